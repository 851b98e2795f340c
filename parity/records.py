"""Records: qualification/<device>/<surface>.<stage>.json, what one surface, stage and device gave.

A record is written by a run that covers the surface's full list (`wanted`) and nothing less. It
holds each bundle's figures, rounded, the hash of the engine's tensors, and the fingerprints of what
made them. The binary embeds the records (src/proof/records.h); docs/qualification.md shows them.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FORMAT = 1
PROFILES = ("eps3", "stock")
# Stage of a record -> stages of bundles that it holds.
STAGES = {
    "base": ("base",), "lora": ("lora",), "optimizer": ("optimizer", "optimizer-near-zero"),
}
OPTIMIZER_SURFACE = "llama"  # the optimizer knows nothing of the model
LAVAPIPE = "lavapipe"


class RecordError(RuntimeError):
    pass


@dataclass(frozen=True, order=True)
class Wanted:
    """One verification: a bundle and the kind of kernels."""

    surface: str
    stage: str  # of the record
    fixture: str
    profile: str
    bundle_stage: str
    seed: int
    kernels: str  # "cpu" or "gpu"

    @property
    def path(self):
        name = f"{self.fixture}-{self.profile}-{self.bundle_stage}-s{self.seed}"
        return f"{self.surface}/{name}"


def stages_of(surface):
    return [s for s in STAGES if s != "optimizer" or surface.name == OPTIMIZER_SURFACE]


def wanted(surface, stage, positions, lavapipe):
    """The full list of a record. On lavapipe the GPU's kernels, slow there, take the larger
    fixtures with one profile: another one changes nothing but the optimizer's step."""
    fixtures = ("tiny",) if stage == "optimizer" else surface.fixtures
    return [
        Wanted(surface.name, stage, fixture, profile, bundle_stage,
               surface.seeds_for(fixture)[position - 1], kernels)
        for fixture in fixtures
        for profile in PROFILES
        for bundle_stage in STAGES[stage]
        for position in positions
        for kernels in (("cpu", "gpu") if lavapipe else ("gpu",))
        if not lavapipe or kernels == "cpu" or fixture == "tiny" or profile == "eps3"
    ]


def device_folder(device_name):
    """"NVIDIA H200" -> "nvidia-h200"; the name of Mesa's CPU device says its compiler's version."""
    if device_name.startswith("llvmpipe"):
        return LAVAPIPE
    return re.sub(r"[^a-z0-9]+", "-", device_name.lower()).strip("-")


def build(surface, stage, results, evidence):
    """`results`: [(Wanted, reference.json, report, verdict)], all of one surface, stage, device."""
    reports = [report for _, _, report, _ in results]
    one = {key: _agreed(key, reports) for key in ("device", "driver", "gemm", "sources", "ops")}
    features = set.intersection(*(set(report["features"]) for report in reports))
    folder = device_folder(one["device"]) + ("" if one["gemm"] == "auto" else f"-{one['gemm']}")
    spirv = {}
    for place, _, report, _ in results:
        spirv.setdefault(place.kernels, set()).add(report["spirv"])
    tiny = [r for w, _, r, _ in results if (w.fixture, w.profile) == ("tiny", "eps3")]
    oracles = [reference["oracle"] for _, reference, _, _ in results]
    if any(oracle != oracles[0] for oracle in oracles):
        raise RecordError(f"{surface.name} {stage}: bundles of different oracles")
    return {
        "format": FORMAT, "surface": surface.name, "family": surface.family, "stage": stage,
        "device": folder, "device_name": one["device"], "driver": one["driver"],
        "features": sorted(features), "ops": one["ops"], "sources": one["sources"],
        "green": all(is_pass(verdict) for _, _, _, verdict in results),
        "worst": _rounded(_over(tiny, "max_abs_vs_hf")),
        "oracle_noise": _rounded(_over(tiny, "hf_max_abs_vs_truth")),
        "evidence": evidence | {
            "oracle": oracles[0], "spirv": {kind: sorted(s) for kind, s in sorted(spirv.items())},
        },
        "bundles": _bundles(results),
    }


def is_pass(verdict):
    return verdict == "PASS" or verdict.startswith("PASS ")


def text_of(record):
    """One line for each bundle and for each other key, so that a change is read line by line."""
    rows = [(key, json.dumps(value, sort_keys=True))
            for key, value in record.items() if key != "bundles"]
    bundles = ",\n  ".join(json.dumps(b, sort_keys=True) for b in record["bundles"])
    rows.append(("bundles", f"[\n  {bundles}\n ]"))
    return "{\n" + ",\n".join(f' "{key}": {value}' for key, value in rows) + "\n}\n"


def write(folder, record):
    """The file, or None where one of the same sources with more seeds is kept."""
    file = folder / record["device"] / f"{record['surface']}.{record['stage']}.json"
    if file.exists():
        old = json.loads(file.read_text())
        if old["sources"] == record["sources"] and seeds_of(record) < seeds_of(old):
            return None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text_of(record))
    return file


def seeds_of(record):
    return {(b["fixture"], b["seed"]) for b in record["bundles"]}


def load_all(folder):
    """(file, record) of every record, in order; a file that is none is an error."""
    found = []
    for file in sorted(Path(folder).glob("*/*.json")):
        try:
            record = json.loads(file.read_text())
            place = (record["device"], f"{record['surface']}.{record['stage']}.json")
        except (ValueError, KeyError, TypeError) as error:
            raise RecordError(f"{file} is no record: {error!r}") from error
        if place != (file.parent.name, file.name) or record["format"] != FORMAT:
            raise RecordError(f"{file} says that it is {'/'.join(place)}, format {record['format']}")
        found.append((file, record))
    return found


def _bundles(results):
    """The kernels of one bundle share an entry; Hugging Face's own figures stand in it once."""
    entries = {}
    for place, reference, report, verdict in results:
        entry = entries.setdefault(place.path, _shared(place, reference, report))
        entry["kernels"][place.kernels] = _of_kernels(report, verdict)
    return list(entries.values())


def _shared(place, reference, report):
    entry = {"fixture": place.fixture, "profile": place.profile, "stage": place.bundle_stage,
             "seed": place.seed, "kernels": {}}
    if "margins" in reference:
        entry["margins"] = {k: _rounded(v) for k, v in reference["margins"].items()}
    noise = {
        kind["kind"]: {
            "worst": _rounded(kind["hf_max_abs_vs_truth"]), "rms": _rounded(kind["hf_rms_vs_truth"]),
            "median": _rounded(_median(report, kind["kind"], "hf_max_abs_vs_truth")),
        } for kind in report.get("kinds", [])
    }
    return entry | {"noise": noise}


def _of_kernels(report, verdict):
    kinds = {}
    for kind in report.get("kinds", []):
        kinds[kind["kind"]] = figures = {
            "worst": _rounded(kind["max_abs_vs_hf"]),
            "median": _rounded(_median(report, kind["kind"], "max_abs_vs_hf")),
            "truth": _rounded(kind["max_abs_vs_truth"]), "rms": _rounded(kind["rms_vs_truth"]),
        }
        if kind["kind"] not in ("logits", "grad") and kind.get("gate2") is None:
            figures["ulps"] = _rounded(kind["max_ulp"])  # the optimizer alone
    found = {"verdict": verdict, "kinds": kinds, "tensors_sha256": report.get("tensors_sha256")}
    exact = ("documents_bit_equal", "resume_bit_equal")
    found |= {key: report[key] for key in exact if report.get(key) is not None}
    worst = max(report.get("tensors", []), key=lambda t: t["max_abs_vs_hf"] or 0, default=None)
    return found | {"worst_tensor": worst["name"] if worst else None}


def _agreed(key, reports):
    values = [report.get(key) for report in reports]
    if values[0] is None or any(value != values[0] for value in values):
        raise RecordError(f"the reports do not agree on {key}, or one has none")
    return values[0]


def _over(reports, figure):
    return max((k[figure] or 0.0 for r in reports for k in r.get("kinds", [])), default=None)


def _median(report, kind, figure):
    values = [t[figure] for t in report.get("tensors", []) if t["kind"] == kind]
    return median(values) if values and None not in values else None


def _rounded(value):
    """Three digits say enough; what is not finite is null, as JSON has no word for it."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(f"{value:.3g}")
