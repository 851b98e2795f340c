"""One bundle per (surface, stage), made once for all tests, and engines that answer it wrongly."""

import atexit
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

import torch
from safetensors.numpy import load_file

from parity import oracle
from parity.fixtures import Batch
from parity.model import load_adapter, load_model
from parity.surface import surface_named
from parity.training import Runner, train

WORK = Path(tempfile.mkdtemp(prefix="oracle-test-"))
atexit.register(shutil.rmtree, WORK, ignore_errors=True)


@lru_cache(maxsize=None)
def bundle(surface, fixture="tiny", stage="base", profile="eps3"):
    group = (surface_named(surface), fixture, 1, [stage], [profile], "test")
    return oracle.make_group(WORK, *group)[0]


def stored(path):
    return load_file(path / "tensors.safetensors")


def answers(path):
    """What an engine must hand in to be compared: HF's own tensors."""
    kinds = ("logits", "grad/", "step1/", "step2/")
    return {n: t.copy() for n, t in stored(path).items() if n.startswith(kinds)}


def torch_engine(path, spoil, profile="eps3"):
    """Transformers itself, after `spoil(model)`, on the bundle's batch."""
    adapter = path / "adapter"
    base = path / "model"
    model = load_adapter(base, adapter) if adapter.exists() else load_model(base)
    with torch.no_grad():
        spoil(model)
    outcome = train(Runner(model, batch_of(path)), [profile])[profile]
    return {name: tensor.numpy() for name, tensor in outcome.tensors.items()}


def batch_of(path):
    names = ("input_ids", "labels", "attention_mask", "position_ids")
    return Batch(*(stored(path).get(name) for name in names))
