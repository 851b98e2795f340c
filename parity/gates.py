"""The gates of the protocol, from three sets of tensors: ours, HF float32, float64 truth.

`lemnos verify` computes the same in C++; this copy tests the gates themselves and judges engines
that are not ours (PyTorch on another device). Nothing here has a knob.

Gate 1 (fixture tiny, profile eps3): ours against HF at most 2e-7 in every element.
Gate 2 (every fixture and profile), per kind, against the truth: our RMS at most 2x HF's, our
largest error at most 3x HF's, where one ULP of a tensor's largest magnitude is always allowed.
Steps of profile stock instead of the largest error: elements off by more than 2e-7 at most 2x as many as
HF's (floor 4), and none off by more than 2 x lr x steps.
Optimizer alone: within one ULP of the parameter. With parameters near zero, where an ULP says nothing:
RMS and largest error against the truth at most 2x torch's own.
"""

import json
import math
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

GATE1 = 2e-7
RMS_FACTOR = 2.0
LARGEST_FACTOR = 3.0
COUNT_FACTOR = 2.0
COUNT_FLOOR = 4
NEAR_ZERO_FACTOR = 2.0


def judge(bundle, ours):
    """`ours`: name -> float32 array, named as in the bundle. Returns what `verify --json` says."""
    bundle = Path(bundle)
    reference = json.loads((bundle / "reference.json").read_text())
    stored = load_file(bundle / "tensors.safetensors")
    wanted = {n for n in stored if n.split("/")[0] in kinds_of(reference)}
    valid = stored["attention_mask"] == 1 if "attention_mask" in stored else None
    tensors = [
        _compare(name, ours[name], stored[name], stored[f"truth/{name}"], valid)
        for name in sorted(wanted & set(ours))
    ]
    report = {
        "tensors": [_public(t) for t in tensors],
        "kinds": [
            _kind(kind, [t for t in tensors if t["kind"] == kind], reference)
            for kind in kinds_of(reference)
        ],
        "missing": sorted(wanted - set(ours)),
        "additional": sorted(set(ours) - wanted),
    }
    judged = [k[gate] for k in report["kinds"] for gate in ("gate1", "gate2")]
    report["ok"] = not report["missing"] and not report["additional"] and False not in judged
    return report


def kinds_of(reference):
    steps = [f"step{k}" for k in range(1, reference["steps"] + 1)]
    return steps if reference.get("given_gradients") else ["logits", "grad"] + steps


def noise(tensors, truth, valid=None):
    """kind -> largest absolute difference between float32 and truth."""
    figures = {}
    for name, tensor in tensors.items():
        kind = name.split("/")[0]
        error = np.abs(_counted(name, tensor, valid) - _counted(name, truth[name], valid))
        figures[kind] = max(figures.get(kind, 0.0), float(error.max(initial=0.0)))
    return figures


def _counted(name, array, valid):
    array = np.asarray(array, np.float64)
    is_logits = name.split("/")[0] == "logits"
    return array[valid] if is_logits and valid is not None else array


def _compare(name, ours, hf, truth, valid):
    if ours.shape != hf.shape:
        raise ValueError(f"{name}: shape {ours.shape}, expected {hf.shape}")
    ours, hf, truth = (_counted(name, a, valid) for a in (ours, hf, truth))
    against_truth, hf_against_truth = np.abs(ours - truth), np.abs(hf - truth)
    finite = np.isfinite(ours).all()
    return {
        "kind": name.split("/")[0], "name": name, "finite": bool(finite),
        "max_abs_vs_hf": _largest(np.abs(ours - hf)),
        "max_abs_vs_truth": _largest(against_truth),
        "rms_vs_truth": _rms([against_truth]),
        "hf_max_abs_vs_truth": _largest(hf_against_truth),
        "hf_rms_vs_truth": _rms([hf_against_truth]),
        "_errors": against_truth, "_hf_errors": hf_against_truth,
        "_ulp": float(np.spacing(np.float32(_largest(np.abs(truth))))),
        "_ulps": _largest(np.abs(ours - hf) / np.spacing(np.abs(hf).astype(np.float32))),
    }


def _kind(kind, tensors, reference):
    worst = max(tensors, key=lambda t: t["max_abs_vs_hf"], default=None)
    summary = {
        "kind": kind,
        "worst_tensor": worst["name"] if worst else None,
        "max_abs_vs_hf": _over(tensors, "max_abs_vs_hf"),
        "max_abs_vs_truth": _over(tensors, "max_abs_vs_truth"),
        "rms_vs_truth": _rms([t["_errors"] for t in tensors]),
        "hf_max_abs_vs_truth": _over(tensors, "hf_max_abs_vs_truth"),
        "hf_rms_vs_truth": _rms([t["_hf_errors"] for t in tensors]),
    }
    finite = all(t["finite"] for t in tensors)
    if reference.get("near_zero"):
        return summary | {"gate1": None, "gate2": finite and _near_zero(summary)}
    if reference.get("given_gradients"):
        summary["max_ulp"] = _over(tensors, "_ulps")
        return summary | {"gate1": finite and summary["max_ulp"] <= 1.0, "gate2": None}
    gate1 = None
    if reference["fixture"] == "tiny" and reference["profile"] == "eps3":
        gate1 = finite and summary["max_abs_vs_hf"] <= GATE1
    return summary | {"gate1": gate1, "gate2": finite and _gate2(kind, tensors, summary, reference)}


def _gate2(kind, tensors, summary, reference):
    if summary["rms_vs_truth"] > RMS_FACTOR * summary["hf_rms_vs_truth"]:
        return False
    if reference["profile"] == "stock" and kind.startswith("step"):
        return _stock_steps(int(kind[4:]), tensors, summary, reference)
    allowed = LARGEST_FACTOR * summary["hf_max_abs_vs_truth"]
    return all(t["max_abs_vs_truth"] <= max(allowed, t["_ulp"]) for t in tensors)


def _near_zero(summary):
    return all(summary[key] <= NEAR_ZERO_FACTOR * summary[f"hf_{key}"]
               for key in ("rms_vs_truth", "max_abs_vs_truth"))


def _stock_steps(step, tensors, summary, reference):
    off = sum(int((t["_errors"] > GATE1).sum()) for t in tensors)
    hf_off = sum(int((t["_hf_errors"] > GATE1).sum()) for t in tensors)
    if off > max(COUNT_FACTOR * hf_off, COUNT_FLOOR):
        return False
    return summary["max_abs_vs_truth"] <= 2 * reference["optimizer"]["lr"] * step


def _public(tensor):
    return {key: value for key, value in tensor.items() if not key.startswith("_")}


def _over(tensors, key):
    return max((t[key] for t in tensors), default=0.0)


def _largest(array):
    return float(np.max(array, initial=0.0))


def _rms(arrays):
    count = sum(a.size for a in arrays)
    return math.sqrt(sum(float(np.square(a).sum()) for a in arrays) / count) if count else 0.0
