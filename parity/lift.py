"""The float64 truth: the same Transformers code with its float32 casts lifted to float64.

`lifted(model)` makes a float64 copy and runs it under two modes. `_LiftCasts` sees every torch call
and replaces a request for float32 (`.to(torch.float32)`, `.float()`, `softmax(dtype=...)`, factory
functions, the default dtype) by float64. `_AssertDouble` sits below, at the dispatcher, forward and
backward, and raises on any floating tensor that is not float64, so that a cast we do not know of
cannot pass unnoticed. RoPE tables are part of the definition: modules that hold `inv_freq` run
unlifted in float32 and their cosines and sines are widened exactly.
"""

import copy
from contextlib import contextmanager

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NARROW = (torch.float32, torch.float16, torch.bfloat16)
NARROWING_METHODS = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)


class LiftError(RuntimeError):
    pass


class _Tables:
    """Whether a RoPE table is being computed at the moment."""

    def __init__(self):
        self.active = False


class _LiftCasts(TorchFunctionMode):
    def __init__(self, tables):
        super().__init__()
        self._tables = tables

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._tables.active:
            return func(*args, **kwargs)
        if func in NARROWING_METHODS:
            func = torch.Tensor.double
        args = tuple(_widen(a) for a in args)
        return func(*args, **{key: _widen(value) for key, value in kwargs.items()})


class _AssertDouble(TorchDispatchMode):
    def __init__(self, tables):
        super().__init__()
        self._tables = tables

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not self._tables.active:
            for leaf in tree_leaves(out):
                if isinstance(leaf, torch.Tensor) and leaf.dtype in NARROW:
                    raise LiftError(f"{func} gives {leaf.dtype} in the float64 truth")
        return out


def double_copy(model):
    """A copy with float64 parameters and buffers; RoPE modules keep their float32 buffers."""
    double = copy.deepcopy(model)
    for parameter in double.parameters():
        parameter.data = parameter.data.double()
        parameter.grad = None
    for module in double.modules():
        if not is_rotary(module):
            for name, buffer in module.named_buffers(recurse=False):
                if buffer.is_floating_point():
                    setattr(module, name, buffer.double())
    return double


def is_rotary(module):
    return any(name.endswith("inv_freq") for name, _ in module.named_buffers(recurse=False))


@contextmanager
def lifted(model, lift_casts=True):
    """Runs a `double_copy` as the truth. `lift_casts=False` is for the test of the assertion."""
    tables = _Tables()
    for module in model.modules():
        if is_rotary(module):
            module.forward = _float32_tables(type(module).forward.__get__(module), tables)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with _AssertDouble(tables):
            if lift_casts:
                with _LiftCasts(tables):
                    yield
            else:
                yield
    finally:
        torch.set_default_dtype(default)
        for module in model.modules():
            if is_rotary(module):
                del module.forward


def _widen(value):
    return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value


def _float32_tables(forward, tables):
    def run(*args, **kwargs):
        tables.active = True
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            return forward(*args, **kwargs)
        finally:
            torch.set_default_dtype(default)
            tables.active = False

    return run
