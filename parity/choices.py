"""Records discrete choices (top-k) with their margins, so that a near-tie cannot decide a gate."""

import torch
from torch.overrides import TorchFunctionMode

SMALLEST_MARGIN = 1e-4


class ChoiceError(RuntimeError):
    pass


class ChoiceRecorder(TorchFunctionMode):
    """`gaps` holds, for each token of the batch, the smallest distance between the last taken and
    the first left-out value; `taken` the sorted indices of the tokens that `valid` (flat) marks.
    `tokens` are the flat positions that the running forward covers."""

    def __init__(self, valid):
        super().__init__()
        self._valid = valid
        self.tokens = torch.arange(valid.numel())
        self.gaps = torch.full((valid.numel(),), float("inf"), dtype=torch.float64)
        self.taken = []

    @property
    def margin(self):
        return self.gaps[self._valid].min().item()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func in (torch.topk, torch.Tensor.topk):
            with torch.no_grad():
                self._record(args[0].detach().double(), out.indices)
        return out

    def _record(self, values, indices):
        k, width = indices.shape[-1], values.shape[-1]
        count = self.tokens.numel()
        if values.numel() % (count * width):
            raise ChoiceError(f"top-k over {tuple(values.shape)} is not one row a token")
        valid = self._valid[self.tokens]
        self.taken.append(indices.reshape(-1, count, k)[:, valid].sort(dim=-1).values)
        if k < width:
            ordered = values.reshape(-1, count, width).sort(dim=-1, descending=True).values
            gap = (ordered[..., k - 1] - ordered[..., k]).amin(dim=0)
            self.gaps[self.tokens] = torch.minimum(self.gaps[self.tokens], gap)


def check_choices(single, truth):
    """Both runs chose alike and no choice was near a tie; returns the smaller margin or None."""
    if len(single.taken) != len(truth.taken) or not all(
        torch.equal(a, b) for a, b in zip(single.taken, truth.taken)
    ):
        raise ChoiceError("float32 and float64 choose differently")
    margin = min(single.margin, truth.margin)
    if margin < SMALLEST_MARGIN:
        raise ChoiceError(
            f"smallest top-k margin {margin:.1e} is under {SMALLEST_MARGIN:.0e}: replace the seed "
            "in the surface's file, in the open (parity.margins)"
        )
    return None if margin == float("inf") else margin
