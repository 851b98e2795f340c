"""python -m parity.qualify --binary lemnos: makes bundles, verifies them, writes the records.

All surfaces and stages by default, on lavapipe with both kinds of kernels. A record is written when
its full list was run (parity/records.py), green or not; one of fewer seeds replaces none of the same
sources. The oracle's sources and packages and the binary are fingerprinted at entry and at exit: a
change in between voids the run. A red of gate 2 repeats on three seeds, as in parity.check.

With --results DIR reports of another machine are judged: DIR/<cpu|gpu>/<surface>/<bundle>.json, what
`lemnos verify --json [--gpu-path]` printed there for each of these bundles.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from parity import check, records, settings
from parity.surface import families, surfaces_of

ROOT = Path(__file__).resolve().parent.parent
REPEATING = Lock()  # other seeds are made, and the index of bundles written, by one at a time
DECIDING = ("src", "cmake", "parity", "CMakeLists.txt", "CMakePresets.json")


def main(arguments=None):
    options = parse(arguments)
    settings.prepare_environment()
    start, surfaces, made_from = time.monotonic(), chosen(options), commit()
    entry = fingerprints(options)
    make_bundles(options, surfaces)
    lavapipe = runs_on_lavapipe(options, surfaces)
    jobs = [w for surface in surfaces for stage in records.stages_of(surface)
            if stage in options.stages
            for w in records.wanted(surface, stage, options.seeds, lavapipe)]
    say(f"{len(jobs)} verifications", start)
    results = verify_all(options, jobs)
    exit_ = fingerprints(options)
    refuse_changes(options, entry, exit_, results)
    evidence = {"commit": made_from, "entry": entry, "exit": exit_}
    return write_records(options, surfaces, results, evidence, lavapipe, start)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="parity.qualify", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: [word for word in text.split(",") if word]
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--binary", type=Path)
    source.add_argument("--results", type=Path)
    parser.add_argument("--device", default="cpu", help="as `lemnos --device`; cpu is lavapipe")
    parser.add_argument("--surfaces", type=words, help="only these")
    parser.add_argument("--stages", type=words, default=list(records.STAGES))
    parser.add_argument("--gemm", default="auto", choices=("auto", "fma", "split"),
                        help="kernels of matrix products; the records of fma and split are of a device of their own")
    parser.add_argument("--seeds", type=lambda text: [int(w) for w in words(text)], default=[1],
                        help="positions in each surface's fixed seed list; the first by default")
    parser.add_argument("--bundles", type=Path, default=ROOT / "build/bundles")
    parser.add_argument("--out", type=Path, default=ROOT / "qualification")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args(arguments)


def chosen(options):
    """Surfaces that the engine supports; the others have no record to be."""
    every = [s for f in families() for s in surfaces_of(f) if s.name not in check.MUST_BE_REFUSED]
    unknown = set(options.surfaces or ()) - {s.name for s in every}
    unknown |= set(options.stages) - set(records.STAGES)
    if unknown:
        sys.exit(f"unknown surface or stage: {', '.join(sorted(unknown))}")
    return [s for s in every if not options.surfaces or s.name in options.surfaces]


def fingerprints(options):
    """What may not change while a run lasts."""
    import parity.oracle  # noqa: F401  brings the sources that decide a bundle
    from parity import guard

    guard.check()
    found = {"oracle": guard.fingerprint()}
    if options.binary:
        found["binary"] = hashlib.sha256(options.binary.read_bytes()).hexdigest()
    return found


def make_bundles(options, surfaces):
    stages = [word for stage in options.stages for word in records.STAGES[stage]]
    make = [sys.executable, "-m", "parity.make", "--out", options.bundles,
            "--surfaces", ",".join(s.name for s in surfaces), "--stages", ",".join(stages),
            "--fixtures", "tiny,tile,packed,left", "--profiles", ",".join(records.PROFILES),
            "--seeds", ",".join(map(str, options.seeds)), "--jobs", options.jobs]
    if subprocess.run([str(word) for word in make], check=False, cwd=ROOT).returncode:
        say("some bundles were not made; their surfaces get no record")


def runs_on_lavapipe(options, surfaces):
    if options.results:
        return (options.results / "cpu").is_dir()
    seed = surfaces[0].seeds_for("tiny")[options.seeds[0] - 1]
    stage = records.STAGES[options.stages[0]][0]
    surface = records.OPTIMIZER_SURFACE if stage == "optimizer" else surfaces[0].name
    first = records.Wanted(surface, stage, "tiny", "eps3", stage, seed, "cpu")
    report = check.report_of(of_kernels(options, "cpu"), {"path": first.path})
    if "error" in report:
        sys.exit(f"{first.path}: {report['error']}")
    return report["paths"] == "cpu"


def of_kernels(options, kernels):
    """What parity.check calls its options."""
    results = options.results / kernels if options.results else None
    return Namespace(binary=options.binary, bundles=options.bundles, results=results, jobs=1,
                     device=options.device, gpu_path=kernels == "gpu", gemm=options.gemm)


def verify_all(options, jobs):
    """Wanted -> (reference.json, report, verdict). What has no bundle is left out."""
    index = {e["path"]: e for e in check.load_index(options.bundles)}
    jobs = [w for w in jobs if w.path in index]
    slow_first = sorted(jobs, key=lambda w: (w.fixture == "tiny", w.kernels == "cpu", w))
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        results = pool.map(lambda w: verify(options, w, index[w.path]), slow_first)
        return dict(zip(slow_first, results))


def verify(options, place, entry):
    own = of_kernels(options, place.kernels)
    reports = {entry["path"]: check.report_of(own, entry)}
    verdicts = [check.verdict(entry, reports[entry["path"]])]
    with REPEATING:
        check.settle_reds(own, [entry], verdicts, reports)
    reference = json.loads((options.bundles / place.path / "reference.json").read_text())
    if not records.is_pass(verdicts[0]):
        say(f"{place.path} {place.kernels}: {verdicts[0]}")
    return reference, reports[entry["path"]], verdicts[0]


def refuse_changes(options, entry, exit_, results):
    if entry != exit_:
        changed = ", ".join(key for key in entry if entry[key] != exit_.get(key))
        sys.exit(f"void: changed while the run lasted: {changed}; nothing was written")
    binaries = {report["binary"] for _, report, _ in results.values() if "binary" in report}
    if len(binaries) > 1 or (options.binary and binaries - {entry["binary"]}):
        sys.exit("void: the reports come from different binaries; nothing was written")
    for reference, _, _ in results.values():
        if not options.results and reference["oracle"]["fingerprint"] != entry["oracle"]:
            sys.exit("void: a bundle of another oracle; nothing was written")


def commit():
    """Of the tree; LEMNOS_COMMIT names it where the tree is a copy without its history."""
    def git(*words):
        call = ["git", "-C", str(ROOT), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()

    if given := os.environ.get("LEMNOS_COMMIT"):
        return given
    try:
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", *DECIDING) else "")
    except (OSError, subprocess.CalledProcessError):
        sys.exit("no git history here; LEMNOS_COMMIT=... names the commit that the records are of")


def write_records(options, surfaces, results, evidence, lavapipe, start):
    """Exit code: 0 when all that was asked for has a green record now."""
    missing, red, written = [], [], 0
    for surface in surfaces:
        for stage in records.stages_of(surface):
            if stage not in options.stages:
                continue
            full = records.wanted(surface, stage, options.seeds, lavapipe)
            label = f"{surface.name} {stage}"
            lacking = [w for w in full if w not in results or "sources" not in results[w][1]]
            if lacking:
                why = results[lacking[0]][2] if lacking[0] in results else "no bundle"
                missing.append(f"{label}: {lacking[0].path} {lacking[0].kernels}: {why}")
                continue
            try:
                record = records.build(surface, stage, [(w, *results[w]) for w in full], evidence)
            except records.RecordError as error:
                missing.append(f"{label}: {error}")
                continue
            red += [] if record["green"] else [label]
            if records.write(options.out, record):
                written += 1
            else:
                say(f"{label}: the record of these sources with more seeds is kept")
    for line in missing:
        say(f"no record: {line}")
    for line in red:
        say(f"RED: {line}")
    say(f"{written} records written to {options.out}, {len(red)} red, {len(missing)} not complete",
        start)
    return 1 if red or missing else 0


def say(text, start=None):
    print(text if start is None else f"{text}, {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
