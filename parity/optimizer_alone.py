"""The optimizer alone: ten given gradients in, parameters after each step out.

`given/<k>/<name>` is step k's gradient and `step<k>/<name>` the parameter after it. The gradients
are the model's own first gradients times SCALES, which run through seven orders of magnitude and
change sign, so that moments, bias corrections and eps all show.

In stage `optimizer` the parameters start at magnitudes in MAGNITUDES, so that ten steps keep them
clear of zero and of powers of two, and one ULP is what ours may differ from torch. A parameter that
passes near zero has an ULP far below the rounding of its own step and says nothing in ULPs: torch on
one processor differs there from torch on another by hundreds of them. So in stage
`optimizer-near-zero` they are the model's own, shrunk towards zero (SMALL), and
both ours and torch's are measured against the same steps in float64.
"""

import shutil

import torch
from safetensors.torch import save_file

from parity import bundle
from parity.fixtures import generator, make_batch
from parity.lift import double_copy
from parity.model import load_model
from parity.training import PROFILES, Runner, make_optimizer

NEAR_ZERO = "optimizer-near-zero"
MAGNITUDES = (0.3, 0.45)
SMALL = (1e-2, 1e-4, 1e-6, 0.0)  # factors, drawn for each element
SCALES = (1.0, -0.5, 1e-3, 10.0, 1e-5, 1.0, 0.0, -1e-2, 3.0, 1e-4)


def make_optimizer_bundle(group, model_folder, profile):
    model = load_model(model_folder)
    runner = Runner(model, make_batch(group.surface, group.fixture, group.seed))
    runner.gradients()
    gradients = [[p.grad * scale for _, p in runner.trainable] for scale in SCALES]
    given = _given(runner, gradients)
    near_zero = group.stage == NEAR_ZERO
    (_move_to_zero if near_zero else _move_from_zero)(model, group.seed)
    truth = _run(Runner(double_copy(model), make_batch(group.surface, group.fixture, group.seed)),
                 gradients, profile)
    start = runner.snapshot(lambda p: p)
    single = _run(runner, gradients, profile)
    facts = group.common_facts(profile) | {
        "given_gradients": True, "near_zero": near_zero, "steps": len(SCALES), "noise": bundle.noise(None, single, truth),
    }
    with bundle.staged(group.path(profile)) as stage:
        (stage / "model").mkdir()
        shutil.copy(model_folder / "config.json", stage / "model")
        save_file(start, stage / "model" / "model.safetensors", metadata={"format": "pt"})
        bundle.write_tensors(stage, _NoBatch(), given | single, truth)
        bundle.write_reference(stage, facts)
    return group.path(profile)


def _move_from_zero(model, seed):
    """New magnitudes, the signs of before."""
    low, high = MAGNITUDES
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            rng = generator("optimizer", name, seed)
            size = low + (high - low) * torch.from_numpy(rng.random(tuple(parameter.shape)))
            parameter.copy_(size * torch.where(parameter < 0, -1.0, 1.0))


def _move_to_zero(model, seed):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            rng = generator("optimizer near zero", name, seed)
            parameter.mul_(torch.from_numpy(rng.choice(SMALL, tuple(parameter.shape))).float())


class _NoBatch:
    def tensors(self):
        return {}


def _given(runner, gradients):
    named = {}
    for step, values in enumerate(gradients, 1):
        for (_, parameter), value in zip(runner.trainable, values):
            parameter.grad = value
        found = runner.snapshot(lambda p: p.grad)
        named |= {f"given/{step}/{name}": tensor for name, tensor in found.items()}
    return named


def _run(runner, gradients, profile):
    optimizer = make_optimizer([p for _, p in runner.trainable], PROFILES[profile])
    tensors = {}
    for step, values in enumerate(gradients, 1):
        for (_, parameter), value in zip(runner.trainable, values):
            parameter.grad = value.to(parameter.dtype)
        optimizer.step()
        found = runner.snapshot(lambda p: p)
        tensors |= {f"step{step}/{name}": tensor for name, tensor in found.items()}
    return tensors
