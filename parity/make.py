"""python -m parity.make --out DIR: makes reference bundles DIR/<surface>/<bundle>/ and index.json.

Bundles that this very oracle (same sources, same packages) has made already are kept.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from pathlib import Path

from parity import settings


def main(arguments=None):
    options = parse(arguments)
    settings.prepare_environment()
    import parity.oracle as oracle
    from parity import guard

    settings.enforce()
    guard.check()
    start, fingerprint = time.monotonic(), guard.fingerprint()
    groups = plan(options, oracle, fingerprint)
    made, failures = run(options, groups)
    guard.check()
    if guard.fingerprint() != fingerprint:
        sys.exit("oracle sources changed while bundles were made; nothing of this run counts")
    index = write_index(options.out)
    print(f"{made} bundles made, {len(index)} in {options.out}, {time.monotonic() - start:.0f} s",
          file=sys.stderr)
    if failures:
        sys.exit("\n".join(["not made:"] + failures))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="parity.make", description=__doc__)
    words = lambda text: [word for word in text.split(",") if word]
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--families", type=words, help="all by default")
    parser.add_argument("--surfaces", type=words, help="only these")
    parser.add_argument("--fixtures", type=words, default=["tiny", "tile", "packed"])
    parser.add_argument("--profiles", type=words, default=["eps3", "stock"])
    parser.add_argument("--stages", type=words, default=["base", "lora"])
    parser.add_argument("--seeds", type=words, default=["1"],
                        help="positions in each surface's fixed seed list, from 1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--force", action="store_true", help="make them anew")
    return parser.parse_args(arguments)


def plan(options, oracle, fingerprint):
    """One entry per (surface, fixture, seed) with the stages and profiles that are to be made."""
    from parity.surface import families, surfaces_of

    _refuse_unknown("stage", options.stages, oracle.STAGES)
    _refuse_unknown("profile", options.profiles, oracle.PROFILES)
    surfaces = [s for f in options.families or families() for s in surfaces_of(f)]
    if options.surfaces:
        _refuse_unknown("surface", options.surfaces, [s.name for s in surfaces])
        surfaces = [s for s in surfaces if s.name in options.surfaces]
    groups = []
    for surface in surfaces:
        for fixture in options.fixtures:
            if fixture not in surface.fixtures:
                continue
            for position in options.seeds:
                seed = surface.seeds_for(fixture)[int(position) - 1]
                stages = [
                    stage for stage in options.stages
                    if _applies(stage, surface, fixture)
                    and (options.force or not _all_current(options, oracle, surface, fixture, stage,
                                                           seed, fingerprint))
                ]
                if stages:
                    groups.append((options.out, surface, fixture, seed, stages, options.profiles,
                                   fingerprint))
    return groups


def run(options, groups):
    """Bundles made and what failed. Largest first; a worker is a fork: torch is imported once."""
    groups = sorted(groups, key=lambda group: group[2] == "tiny")
    with multiprocessing.get_context("fork").Pool(max(1, options.jobs), _start_worker) as pool:
        results = list(pool.imap_unordered(_make, groups))
    return sum(made for made, _ in results), sorted(text for _, text in results if text)


def write_index(out):
    entries = []
    for path in sorted(out.glob("*/*/reference.json")):
        facts = json.loads(path.read_text())
        keys = ("surface", "family", "fixture", "profile", "seed", "noise")
        entry = {key: facts[key] for key in keys} | {"path": str(path.parent.relative_to(out))}
        entries.append(entry | {"stage": path.parent.name.split("-", 2)[2].rsplit("-s", 1)[0]})
    out.mkdir(parents=True, exist_ok=True)
    (out / "index.json").write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
    return entries


def _start_worker():
    settings.enforce()


def _make(group):
    from parity import oracle

    surface, fixture, seed = group[1:4]
    try:
        return len(oracle.make_group(*group)), None
    except Exception as error:  # one bundle's failure is reported with the others, at the end
        return 0, f"{surface.name} {fixture} seed {seed}: {type(error).__name__}: {error}"


def _applies(stage, surface, fixture):
    """The optimizer knows nothing of the model: one surface is enough."""
    return not stage.startswith("optimizer") or (surface.name == "llama" and fixture == "tiny")


def _all_current(options, oracle, surface, fixture, stage, seed, fingerprint):
    for profile in options.profiles:
        name = oracle.bundle_name(fixture, profile, stage, seed)
        path = options.out / surface.name / name / "reference.json"
        if not path.exists():
            return False
        if json.loads(path.read_text())["oracle"].get("fingerprint") != fingerprint:
            return False
    return True


def _refuse_unknown(what, given, known):
    unknown = [word for word in given if word not in known]
    if unknown:
        sys.exit(f"unknown {what}: {', '.join(unknown)}; there are: {', '.join(known)}")


if __name__ == "__main__":
    main()
