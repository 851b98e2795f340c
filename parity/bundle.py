"""Writes a reference bundle, whole or not at all; the format is in parity/README.md."""

import json
import shutil
from contextlib import contextmanager

import numpy as np
from safetensors.numpy import save_file

from parity import gates

FORMAT = 1
GATE = 2e-7


@contextmanager
def staged(folder):
    """A new folder beside the final one, renamed when the block ends without an error."""
    stage = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir(parents=True)
    yield stage
    shutil.rmtree(folder, ignore_errors=True)
    stage.rename(folder)


def write_tensors(stage, batch, single, truth):
    tensors = dict(batch.tensors())
    tensors |= {name: _array(tensor, np.float32) for name, tensor in single.items()}
    tensors |= {f"truth/{name}": _array(tensor, np.float64) for name, tensor in truth.items()}
    save_file(tensors, stage / "tensors.safetensors")


def write_reference(stage, facts):
    text = json.dumps({"format": FORMAT, "gate": GATE} | facts, indent=2, sort_keys=True)
    (stage / "reference.json").write_text(text + "\n")


def noise(batch, single, truth):
    valid = None if batch is None else batch.valid()
    return gates.noise(
        {name: _array(tensor, np.float32) for name, tensor in single.items()},
        {name: _array(tensor, np.float64) for name, tensor in truth.items()},
        valid,
    )


def _array(tensor, dtype):
    array = tensor.numpy()
    if array.dtype != dtype:
        raise TypeError(f"expected {dtype.__name__}, got {array.dtype}")
    return np.ascontiguousarray(array)
