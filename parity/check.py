"""python -m parity.check BUNDLES --binary lemnos: runs `lemnos verify` on every bundle and judges.

With --results DIR the reports DIR/<surface>/<bundle>.json of an earlier run (on another machine)
are judged instead. Exit 0 only if no bundle is red. A gate 2 red counts once it has repeated on all
three seeds of the surface's list, whose bundles are then made; gate 1, a missing or an additional
tensor, an unreadable answer count at once. There is no option that loosens anything.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SEED_COUNT = 3
KINDS = ("logits", "grad", "step1", "step2")
TIMEOUT_S = 600
# Surfaces that the engine does not support yet: refusing them, by the field's name, is what passes.
MUST_BE_REFUSED = {"mixtral_aux_loss": "output_router_logits"}


def main(arguments=None):
    options = parse(arguments)
    start = time.monotonic()
    entries = [e for e in load_index(options.bundles)
               if not options.surfaces or e["surface"] in options.surfaces]
    if not entries:
        sys.exit(f"no bundles in {options.bundles}")
    reports = judge_all(options, entries)
    verdicts = [verdict(e, reports[e["path"]]) for e in entries]
    settle_reds(options, entries, verdicts, reports)
    print_table(entries, verdicts, reports)
    if options.out:
        save(options.out, entries, verdicts, reports)
    bad = [v for v in verdicts if v != "PASS" and not v.startswith("PASS ")]
    print(f"{len(entries)} bundles, {len(bad)} not passed, {time.monotonic() - start:.0f} s")
    return 1 if bad else 0


def parse(arguments):
    parser = argparse.ArgumentParser(prog="parity.check", description=__doc__)
    parser.add_argument("bundles", type=Path)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--binary", type=Path)
    source.add_argument("--results", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, help="all reports and verdicts as one JSON")
    parser.add_argument("--surfaces", type=lambda text: text.split(","), help="only these")
    parser.add_argument("--device", help="as `lemnos --device`")
    parser.add_argument("--gpu-path", action="store_true", help="the GPU's kernels on a CPU device too")
    parser.add_argument("--gemm", default="auto", help="as `lemnos verify --gemm`")
    return parser.parse_args(arguments)


def load_index(bundles):
    return json.loads((bundles / "index.json").read_text())


def judge_all(options, entries):
    """path -> report of `lemnos verify --json`; a failure is a report with "error"."""
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        reports = pool.map(lambda entry: report_of(options, entry), entries)
        return dict(zip((e["path"] for e in entries), reports))


def report_of(options, entry):
    try:
        if options.results:
            return restored(json.loads((options.results / f"{entry['path']}.json").read_text()))
        return restored(run_verify(options, options.bundles / entry["path"]))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


def run_verify(options, bundle):
    call = [options.binary, "verify", bundle, "--json"] + ["--gpu-path"] * options.gpu_path
    call += ["--gemm", options.gemm]
    call += ["--device", options.device] if options.device else []
    done = subprocess.run(call, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return {"ok": False, "error": f"exit code {done.returncode}: {last}"}
    error = report.get("error")
    agrees = error["exit_code"] == done.returncode if error else report["ok"] == (done.returncode == 0)
    if not agrees or (error and done.returncode == 0):
        return {"ok": False, "error": f"exit code {done.returncode} contradicts the report"}
    return report


def restored(report):
    """An error is a document of its own; and JSON has no infinity: what is not finite comes as null."""
    if isinstance(error := report.get("error"), dict):
        return {"ok": False, "error": f"exit code {error['exit_code']}: {error['message']}"}
    for kind in report.get("kinds", []):
        if not kind.get("finite", True):
            kind |= {key: math.inf for key, value in kind.items()
                     if value is None and not key.startswith("gate")}
    return report


def verdict(entry, report):
    """PASS, FAIL <why> or RED (gate 2 alone, to be repeated). The report's own "ok" must agree."""
    if entry["surface"] in MUST_BE_REFUSED:
        return refusal(MUST_BE_REFUSED[entry["surface"]], report)
    if "error" in report:
        return f"FAIL {report['error']}"
    for what in ("missing", "additional"):
        if report.get(what):
            return f"FAIL {what}: {', '.join(report[what][:3])}"
    kinds = {k["kind"]: k for k in report.get("kinds", [])}
    absent = [kind for kind in expected_kinds(entry) if kind not in kinds]
    if absent:
        return f"FAIL no figures for {', '.join(absent)}"
    if not all(k.get("finite", True) and math.isfinite(k["max_abs_vs_hf"]) for k in kinds.values()):
        return "FAIL not finite"
    absolute = must_pass_gate1(entry)
    if any(k["gate1"] is False or (absolute and k["gate1"] is not True) for k in kinds.values()):
        return "FAIL gate 1"
    if not all(report.get(key) is True for key in exact_of(entry)):
        return "FAIL other bits: " + ", ".join(k for k in exact_of(entry) if report.get(k) is not True)
    if entry["stage"] != "optimizer" and any(k["gate2"] is not True for k in kinds.values()):
        return "RED gate 2"
    return "PASS" if report["ok"] else "FAIL the report says so"


def exact_of(entry):
    """What the report must say of bits: packed documents are themselves, a resumed run is the run."""
    packed = ["documents_bit_equal"] if entry["fixture"] == "packed" else []
    models = entry["fixture"] == "tiny" and not entry["stage"].startswith("optimizer")
    return packed + ["resume_bit_equal"] * models


def refusal(field, report):
    error = report.get("error", "")
    refused = error.startswith("exit code 3:") and field in error
    return f"PASS refused: {field}" if refused else "FAIL it was not refused by name"


def must_pass_gate1(entry):
    if entry["stage"].startswith("optimizer"):
        return entry["stage"] == "optimizer"
    return entry["fixture"] == "tiny" and entry["profile"] == "eps3"


def expected_kinds(entry):
    if entry["stage"].startswith("optimizer"):
        return [f"step{k}" for k in range(1, 11)]
    return KINDS


def settle_reds(options, entries, verdicts, reports):
    """Makes and verifies the other seeds of each red; red on all of them is FAIL."""
    for position, entry in enumerate(list(entries)):
        if not verdicts[position].startswith("RED"):
            continue
        others = other_seeds(options, entry)
        reds = 1
        for other in others:
            report = report_of(options, other)
            reports[other["path"]] = report
            again = verdict(other, report)
            if again.startswith("FAIL"):
                verdicts[position] = f"FAIL {other['path']}: {again[5:]}"
                break
            reds += again.startswith("RED")
        else:
            seen = 1 + len(others)
            word = "FAIL" if reds == seen or seen < SEED_COUNT else "PASS"
            verdicts[position] = f"{word} gate 2 red on {reds} of {seen} seeds"


def other_seeds(options, entry):
    if not options.results:
        make = [sys.executable, "-m", "parity.make", "--out", options.bundles,
                "--families", entry["family"], "--surfaces", entry["surface"],
                "--fixtures", entry["fixture"], "--profiles", entry["profile"],
                "--stages", entry["stage"], "--seeds", "1,2,3"]
        subprocess.run([str(word) for word in make], check=True, stdout=subprocess.DEVNULL)
    same = ("surface", "fixture", "profile", "stage")
    return [e for e in load_index(options.bundles)
            if e["path"] != entry["path"] and all(e[key] == entry[key] for key in same)]


def print_table(entries, verdicts, reports):
    print(f"{'bundle':48} {'logits':>15} {'gradients':>15} {'step 1':>15} {'step 2':>15}  verdict")
    for entry, word in zip(entries, verdicts):
        kinds = {k["kind"]: k for k in reports[entry["path"]].get("kinds", [])}
        cells = " ".join(f"{cell(kinds.get(kind), entry['noise'].get(kind)):>15}" for kind in KINDS)
        print(f"{entry['path']:48} {cells}  {word}")
    print("each cell: ours against HF float32 / HF float32 against the truth (oracle noise)")


def cell(kind, oracle_noise):
    ours = f"{kind['max_abs_vs_hf']:.1e}" if kind else "-"
    return f"{ours}/{oracle_noise:.1e}" if oracle_noise is not None else ours


def save(out, entries, verdicts, reports):
    rows = [e | {"verdict": v, "report": reports[e["path"]]} for e, v in zip(entries, verdicts)]
    out.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
