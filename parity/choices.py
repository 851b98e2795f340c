"""Records discrete choices (top-k) with their margins, so that a near-tie cannot decide a gate."""

import torch
from torch.overrides import TorchFunctionMode

SMALLEST_MARGIN = 1e-4


class ChoiceError(RuntimeError):
    pass


class ChoiceRecorder(TorchFunctionMode):
    """`margin` is the smallest gap between the last taken and the first left-out value, over the
    tokens that `valid` (flat, one flag a token) marks; `taken` holds the sorted indices."""

    def __init__(self, valid):
        super().__init__()
        self._valid = valid
        self.taken = []
        self.margin = float("inf")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func in (torch.topk, torch.Tensor.topk):
            self._record(args[0].detach(), out)
        return out

    def _record(self, values, out):
        k = out.indices.shape[-1]
        rows = values.reshape(-1, values.shape[-1])
        indices = out.indices.reshape(-1, k)
        if rows.shape[0] == self._valid.numel():
            rows, indices = rows[self._valid], indices[self._valid]
        self.taken.append(indices.sort(dim=-1).values)
        if k < rows.shape[-1]:
            ordered = rows.sort(dim=-1, descending=True).values
            gap = (ordered[:, k - 1] - ordered[:, k]).min().item()
            self.margin = min(self.margin, gap)


def check_choices(single, truth):
    """Both runs chose alike and no choice was near a tie; returns the smaller margin or None."""
    if len(single.taken) != len(truth.taken) or not all(
        torch.equal(a, b) for a, b in zip(single.taken, truth.taken)
    ):
        raise ChoiceError("float32 and float64 take different experts")
    margin = min(single.margin, truth.margin)
    if margin < SMALLEST_MARGIN:
        raise ChoiceError(
            f"smallest top-k margin {margin:.1e} is under {SMALLEST_MARGIN:.0e}: replace the seed "
            "in the surface's file, in the open"
        )
    return None if margin == float("inf") else margin
