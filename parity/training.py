"""Two AdamW steps of one model on one batch, in float32 or as the lifted float64 truth."""

import itertools
from contextlib import nullcontext
from dataclasses import dataclass, field

import torch
from peft import PeftModel

from parity.choices import ChoiceRecorder
from parity.fixtures import IGNORED
from parity.lift import lifted
from parity.model import disk_tensors, reset_rope

STEPS = 2
BASE_LOGITS = "logits/none"
PROFILES = {
    "eps3": {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-3, "weight_decay": 0.0},
    "stock": {"lr": 1e-5, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01},
}


@dataclass
class Outcome:
    """One profile's run; `tensors` has the names of the bundle: logits, grad/, step1/, step2/."""

    tensors: dict
    losses: list
    choices: list = field(default_factory=list)


class Runner:
    """Runs `model` forward and backward on `batch`; `truth`: `model` is a double copy, lifted."""

    def __init__(self, model, batch, truth=False):
        self.model = model
        self.truth = truth
        self.inputs = {k: torch.from_numpy(v) for k, v in batch.tensors().items()}
        self.valid = torch.from_numpy(batch.valid()).flatten()
        self.documents = batch.documents
        self.trainable = [(n, p) for n, p in model.named_parameters() if p.requires_grad]

    def gradients(self):
        """Sets .grad of the trainable parameters; returns logits, loss and the choices made."""
        for _, parameter in self.trainable:
            parameter.grad = None
        recorder, logits, loss = self._recorder(), [], 0.0
        with recorder:
            for span in self._spans():
                recorder.tokens = self._tokens(span)
                reset_rope(self.model)
                out = self._forward_backward(span)
                logits.append(out.logits.detach())
                loss += out.loss.item()
        return torch.cat(logits, dim=1), loss, recorder

    def base_logits(self):
        """Of the frozen model under its adapter."""
        logits = []
        with self.model.disable_adapter(), torch.no_grad():
            for span in self._spans():
                reset_rope(self.model)
                with lifted(self.model) if self.truth else nullcontext():
                    logits.append(self._forward(span).logits)
        return torch.cat(logits, dim=1)

    def snapshot(self, read):
        """Disk-named copies of `read(parameter)`, without those that have none."""
        found = {n: read(p) for n, p in self.trainable if read(p) is not None}
        named = disk_tensors(self.model, {n: t.detach().clone() for n, t in found.items()})
        return {name: tensor.contiguous().clone() for name, tensor in named.items()}

    def _spans(self):
        """Columns of each forward: the whole batch, or each packed document alone."""
        if not self.documents:
            return [slice(None)]
        ends = list(itertools.accumulate(self.documents))
        return [slice(end - length, end) for end, length in zip(ends, self.documents)]

    def _recorder(self):
        return ChoiceRecorder(self.valid)

    def _tokens(self, span):
        shape = self.inputs["input_ids"].shape
        return torch.arange(shape[0] * shape[1]).view(shape)[:, span].flatten()

    def _forward_backward(self, span):
        with lifted(self.model) if self.truth else nullcontext():
            out = self._forward(span)
            out.loss.backward()
        return out

    def _forward(self, span):
        """Packed documents share one mean over the supervised tokens of all of them."""
        part = {name: tensor[:, span] for name, tensor in self.inputs.items()}
        if self.documents:
            part["num_items_in_batch"] = (self.inputs["labels"][:, 1:] != IGNORED).sum()
        return self.model(**part, use_cache=False)


def train(runner, profiles):
    """profile -> Outcome. The first gradients are shared; every profile starts from them, and the
    model is left as it was."""
    start = [p.detach().clone() for _, p in runner.trainable]
    logits, loss, choices = runner.gradients()
    first = [None if p.grad is None else p.grad.clone() for _, p in runner.trainable]
    shared = {"logits": logits}
    if isinstance(runner.model, PeftModel):
        shared[BASE_LOGITS] = runner.base_logits()
    shared |= _under("grad", runner.snapshot(lambda p: p.grad))
    outcomes = {}
    for name in profiles:
        outcomes[name] = Outcome(dict(shared), [loss], [choices])
        _steps(runner, PROFILES[name], start, first, outcomes[name])
    _restore(runner, start)
    return outcomes


def make_optimizer(parameters, profile):
    return torch.optim.AdamW(parameters, foreach=False, fused=False, **profile)


def _steps(runner, profile, start, first, outcome):
    _restore(runner, start)
    for (_, parameter), grad in zip(runner.trainable, first):
        parameter.grad = None if grad is None else grad.clone()
    optimizer = make_optimizer([p for _, p in runner.trainable], profile)
    for step in range(1, STEPS + 1):
        if step > 1:
            _, loss, choices = runner.gradients()
            outcome.losses.append(loss)
            outcome.choices.append(choices)
        optimizer.step()
        outcome.tensors |= _under(f"step{step}", runner.snapshot(lambda p: p))


def _restore(runner, start):
    with torch.no_grad():
        for (_, parameter), value in zip(runner.trainable, start):
            parameter.copy_(value)


def _under(prefix, tensors):
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}
