"""python -m parity.document [--check]: docs/qualification.md from the records.

--check changes nothing and fails when the file is not what the records say.
"""

import argparse
import sys
from pathlib import Path
from statistics import median

from parity import records

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/qualification.md"
QUALIFICATION = ROOT / "qualification"
NOT_A_FIGURE = "-"

INTRODUCTION = """# What is proven

Made by `scripts/qualify` from the records under `qualification/`; do not edit. How it is measured, and
what the gates are: [numerics.md](numerics.md#what-is-compared). A record holds for the sources that it was
made from; `lemnos architectures` says which of them this program was built from.

* *bundles*: verifications, each a bundle on one kind of kernels (lavapipe runs its own and the GPU's).
* *worst*, *median*: ours against Transformers' FP32 in `tiny` `eps3`, over tensors of logits, gradients and
  steps; the gate is 2e-7. *noise*: Transformers' FP32 against float64, the largest there.
* *RMS*: our RMS error against float64 divided by Transformers' own, in every bundle and kind; the gate is 2,
  1 is no worse than PyTorch.
* *margin*: the smallest distance of a top-k choice from a tie.
"""
HEAD = ("surface", "stage", "device", "bundles", "worst", "median", "noise", "worst RMS", "median RMS",
        "margin", "verdict")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="parity.document", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    text = render([record for _, record in records.load_all(QUALIFICATION)])
    if not options.check:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        sys.exit("docs/qualification.md is not what the records say: python -m parity.document")


def render(found):
    parts = [INTRODUCTION, devices(found)]
    for family in sorted({record["family"] for record in found}):
        rows = [row(r) for r in found if r["family"] == family]
        parts.append(f"## {family}\n\n{table(HEAD, sorted(rows))}\n")
    return "\n".join(parts)


def devices(found):
    if not found:
        return "There is no record yet.\n"
    head = ("device", "name", "driver", "records", "green", "bundles", "worst RMS", "oracle")
    rows = []
    for device in sorted({record["device"] for record in found}):
        own = [r for r in found if r["device"] == device]
        rows.append((
            device, names(own, lambda r: r["device_name"]), names(own, lambda r: r["driver"]), len(own),
            sum(r["green"] for r in own), sum(map(verifications, own)),
            ratio(max((x for r in own for x in ratios(r)), default=None)),
            names(own, lambda r: "torch {torch}, transformers {transformers}, peft {peft}".format(
                **r["evidence"]["oracle"])),
        ))
    return table(head, rows) + "\n"


def row(record):
    tiny = [kind for bundle in record["bundles"] for kernels in bundle["kernels"].values()
            if (bundle["fixture"], bundle["profile"]) == ("tiny", "eps3")
            for kind in kernels["kinds"].values()]
    medians = [kind["median"] for kind in tiny if kind["median"] is not None]
    margins = [b["margins"]["topk"] for b in record["bundles"] if "margins" in b]
    found = ratios(record)
    return (
        record["surface"], record["stage"], record["device"], verifications(record),
        figure(record["worst"]), figure(max(medians, default=None)), figure(record["oracle_noise"]),
        ratio(max(found, default=None)), ratio(median(found) if found else None),
        figure(min(margins, default=None)), verdict(record),
    )


def verifications(record):
    return sum(len(bundle["kernels"]) for bundle in record["bundles"])


def ratios(record):
    """Our RMS error / Transformers', of each bundle, kind and kind of kernels."""
    return [
        kind["rms"] / noise
        for bundle in record["bundles"] for kernels in bundle["kernels"].values()
        for name, kind in kernels["kinds"].items()
        if (noise := bundle["noise"][name]["rms"]) and kind["rms"] is not None
    ]


def verdict(record):
    if record["green"]:
        return "green"
    words = (kernels["verdict"] for b in record["bundles"] for kernels in b["kernels"].values())
    return next(w for w in words if not records.is_pass(w)).replace("|", "/")


def names(found, name):
    return ", ".join(sorted({name(record) for record in found}))


def figure(value):
    return NOT_A_FIGURE if value is None else f"{value:.1e}"


def ratio(value):
    return NOT_A_FIGURE if value is None else f"{value:.2f}"


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


if __name__ == "__main__":
    main()
