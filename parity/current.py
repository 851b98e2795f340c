"""python -m parity.current FILE.json ...: whether every surface has its record, and it holds today.

FILE is what `parity.check --out FILE` wrote for this tree: what the program says of its sources and
features. For each surface and stage lavapipe's record must be there, be green, hold the full list,
and come from the same sources; every family of the program must have surfaces, and every feature of
today's surfaces must be in a record. Exit code 1 names what is not so and how it is made anew.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from parity import check, records
from parity.document import QUALIFICATION
from parity.surface import families, surfaces_of


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="parity.current", description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--binary", type=Path, required=True)
    options = parser.parse_args(arguments)
    entries = [e for file in options.reports for e in json.loads(file.read_text())]
    lacking = families_without_surfaces(options.binary) + unproven(entries, QUALIFICATION)
    if lacking:
        surfaces = sorted({surface for surface, _ in lacking if surface})
        again = f" --surfaces {','.join(surfaces)}" if 0 < len(surfaces) < 10 else ""
        sys.exit("\n".join([text for _, text in lacking] + [f"made anew by: scripts/qualify{again}"]))


def families_without_surfaces(binary):
    call = [binary, "architectures", "--json"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    registered = [family["name"] for family in json.loads(done.stdout)["families"]]
    return [("", f"{name}: no parity/surfaces/{name}.py") for name in registered
            if name not in families()]


def unproven(entries, folder):
    """(surface, why) for each surface and stage without a record that holds for `entries`' program."""
    today = {}
    for entry in entries:
        if "sources" in entry["report"]:
            stage = entry["report"]["stage"]
            today.setdefault((entry["surface"], stage), []).append(entry["report"])
    found = {(r["surface"], r["stage"]): r for _, r in records.load_all(folder)
             if r["device"] == records.LAVAPIPE}
    lacking = []
    for surface in (s for f in families() for s in surfaces_of(f)):
        if surface.name in check.MUST_BE_REFUSED:
            continue
        for stage in records.stages_of(surface):
            place = (surface.name, stage)
            why = lack(surface, stage, found.get(place), today.get(place, []))
            lacking += [(surface.name, f"{surface.name} {stage}: {why}")] if why else []
    return lacking


def lack(surface, stage, record, reports):
    if not reports:
        return "nothing was verified today"
    if record is None:
        return "no record of lavapipe"
    if not record["green"]:
        return "the record is red"
    if any(report["sources"] != record["sources"] for report in reports):
        return "the record was made from other sources"
    full = {(w.fixture, w.profile, w.bundle_stage, w.kernels)
            for w in records.wanted(surface, stage, [1], lavapipe=True)}
    held = {(b["fixture"], b["profile"], b["stage"], kernels)
            for b in record["bundles"] for kernels in b["kernels"]}
    if full - held:
        return f"the record lacks {' '.join(min(full - held))}"
    missing = set(record["features"]) - set.union(*(set(r["features"]) for r in reports))
    if missing:
        return f"the surface has no longer {', '.join(sorted(missing))}"
    return None


if __name__ == "__main__":
    main()
