"""The optimizer alone: ten given gradients in, parameters after each step out.

`given/<k>/<name>` is step k's gradient and `step<k>/<name>` the parameter after it. The gradients
are the model's own first gradients times SCALES, which run through seven orders of magnitude and
change sign, so that moments, bias corrections and eps all show.
"""

import shutil

from parity import bundle
from parity.fixtures import make_batch
from parity.lift import double_copy
from parity.model import load_model
from parity.training import PROFILES, Runner, make_optimizer

SCALES = (1.0, -0.5, 1e-3, 10.0, 1e-5, 1.0, 0.0, -1e-2, 3.0, 1e-4)


def make_optimizer_bundle(group, model_folder, profile):
    model = load_model(model_folder)
    runner = Runner(model, make_batch(group.surface, group.fixture, group.seed))
    runner.gradients()
    gradients = [[p.grad * scale for _, p in runner.trainable] for scale in SCALES]
    given = _given(runner, gradients)
    truth = _run(Runner(double_copy(model), make_batch(group.surface, group.fixture, group.seed)),
                 gradients, profile)
    single = _run(runner, gradients, profile)
    facts = group.common_facts(profile) | {
        "given_gradients": True, "steps": len(SCALES), "noise": bundle.noise(None, single, truth),
    }
    with bundle.staged(group.path(profile)) as stage:
        shutil.copytree(model_folder, stage / "model")
        bundle.write_tensors(stage, _NoBatch(), given | single, truth)
        bundle.write_reference(stage, facts)
    return group.path(profile)


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
