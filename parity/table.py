"""python -m parity.table DOCUMENT NAME=FILE.json ...: parity results as Markdown in a document.

FILE is what `parity.check --out FILE` wrote. The text between `<!-- parity-table:NAME -->` and
`<!-- /parity-table:NAME -->` is replaced by a summary per family, every row, and the optimizer
alone; a NAME given several times takes the rows of all its files. The document is written once, and
only if every NAME has its markers. Without DOCUMENT (`-`) the tables are printed.
"""

import argparse
import json
import re
import sys
from pathlib import Path

KINDS = ("logits", "grad", "step1", "step2")
HEADINGS = {"logits": "logits", "grad": "gradients", "step1": "step 1", "step2": "step 2"}
ROW_KEYS = ("family", "surface", "fixture", "profile", "stage", "device")


def main(arguments=None):
    options = parse(arguments)
    tables = {name: render(load(files)) for name, files in options.results.items()}
    if options.document == Path("-"):
        print("\n\n".join(tables.values()))
        return
    text = options.document.read_text()
    for name, table in tables.items():
        text = insert(text, name, table)
    options.document.write_text(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="parity.table", description=__doc__)
    parser.add_argument("document", type=Path)
    parser.add_argument("results", nargs="+", metavar="NAME=FILE.json")
    options = parser.parse_args(arguments)
    results = {}
    for word in options.results:
        name, equals, file = word.partition("=")
        if not (name and equals and file):
            parser.error(f"{word!r}: expected NAME=FILE.json")
        results.setdefault(name, []).append(Path(file))
    options.results = results
    return options


def load(files):
    return [entry for file in files for entry in named_device(json.loads(file.read_text()))]


def named_device(entries):
    """A file is one device's; what was refused there has no report that says so."""
    devices = {e["report"]["device"] for e in entries if "device" in e["report"]}
    if len(devices) == 1:
        for entry in entries:
            entry["report"].setdefault("device", *devices)
    return entries


def insert(text, name, table):
    begin, end = f"<!-- parity-table:{name} -->", f"<!-- /parity-table:{name} -->"
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(between.findall(text)) != 1:
        sys.exit(f"the document must hold {begin} ... {end} once")
    return between.sub(lambda _: f"{begin}\n{table}\n{end}", text)


def render(entries):
    """Three tables; a table without rows is left out."""
    models = [e for e in entries if e["stage"] != "optimizer"]
    optimizer = [e for e in entries if e["stage"] == "optimizer"]
    parts = []
    if models:
        parts += [summary(models), folded("Every row", rows(models))]
    if optimizer:
        parts.append(optimizer_alone(optimizer))
    return "\n\n".join(parts)


def summary(entries):
    head = ("family", "device", "bundles", "passed", "worst against HF, `tiny` `eps3`",
            "worst RMS error / HF's RMS error")
    lines = []
    for (family, device), group in grouped(entries, ("family", "device")):
        tiny = [e for e in group if (e["fixture"], e["profile"]) == ("tiny", "eps3")]
        lines.append((
            family, device, len(group), sum(map(passed, group)),
            figure(worst(k["max_abs_vs_hf"] for e in tiny for k in kinds_of(e).values())),
            ratio(worst(rms_ratio(k) for e in group for k in kinds_of(e).values())),
        ))
    return markdown(head, lines)


def rows(entries):
    head = ("surface", "fixture", "profile", "stage", "device",
            *(HEADINGS[kind] for kind in KINDS), "RMS / HF's", "verdict")
    lines = []
    for (_, *place), group in grouped(entries, ROW_KEYS):
        cells = [cell(group, kind) for kind in KINDS]
        rms = worst(rms_ratio(k) for e in group for k in kinds_of(e).values())
        lines.append((*place, *cells, ratio(rms), verdict(group)))
    note = "Each cell: our largest difference from HF's float32 / HF's own from float64."
    return f"{note}\n\n{markdown(head, lines)}"


def optimizer_alone(entries):
    head = ("optimizer alone: profile", "device", "steps",
            "largest difference, ULPs of the parameter", "verdict")
    lines = []
    for (profile, device), group in grouped(entries, ("profile", "device")):
        kinds = [k for e in group for k in kinds_of(e).values()]
        ulps = worst(k.get("max_ulp") for k in kinds)
        steps = max((len(kinds_of(e)) for e in group), default=0)
        lines.append((profile, device, steps, ratio(ulps), verdict(group)))
    return markdown(head, lines)


def grouped(entries, keys):
    """(values of the keys, entries), in order; seeds of one bundle share a group."""
    groups = {}
    for entry in entries:
        groups.setdefault(tuple(value_of(entry, key) for key in keys), []).append(entry)
    return sorted(groups.items())


def value_of(entry, key):
    return entry["report"].get("device", "-") if key == "device" else entry[key]


def kinds_of(entry):
    return {k["kind"]: k for k in entry["report"].get("kinds", [])}


def cell(group, kind):
    found = [kinds_of(e)[kind] for e in group if kind in kinds_of(e)]
    ours = worst(k["max_abs_vs_hf"] for k in found)
    noise = worst(k["hf_max_abs_vs_truth"] for k in found)
    return "-" if ours is None else f"{figure(ours)} / {figure(noise)}"


def rms_ratio(kind):
    ours, hf = kind.get("rms_vs_truth"), kind.get("hf_rms_vs_truth")
    return ours / hf if ours is not None and hf else None


def worst(values):
    """The largest; NaN, the worst of all, is kept; None where there is nothing."""
    known = [v for v in values if v is not None]
    return next((v for v in known if v != v), max(known, default=None))


def passed(entry):
    return entry["verdict"] == "PASS" or entry["verdict"].startswith("PASS ")


def verdict(group):
    """The first that did not pass speaks for the group."""
    found = next((e for e in group if not passed(e)), group[0])
    return found["verdict"].replace("|", "/")


def figure(value):
    return "-" if value is None else f"{value:.1e}"


def ratio(value):
    return "-" if value is None else f"{value:.2f}"


def folded(title, body):
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def markdown(head, lines):
    table = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in table)


if __name__ == "__main__":
    main()
