"""Random weights that hide nothing: no norm at 1, no bias at 0, no LoRA B at 0.

Uniform draws from PCG64, one stream per parameter name, so the bits do not depend on torch, on the
CPU or on the order of parameters. The scales keep the oracle's own float32 noise on `tiny` under
1e-7 (norms below 1, logits below 1) while scores, gates and routers stay far from linear.
"""

import math
import re

import torch

from parity.fixtures import generator

# (expression on the parameter's name, kind, value); the first that matches decides.
#   between  uniform in [a, b]
#   signed   uniform magnitude in [a, b], random sign
#   spread   uniform around 0 with this standard deviation
#   gain     spread of gain / sqrt(fan_in), fan_in = last dimension
DEFAULT_RULES = (
    (r"model\.norm\.weight$", "between", (0.04, 0.16)),
    (r"norm[^.]*\.weight$", "between", (0.5, 0.98)),
    (r"\.bias$", "signed", (0.05, 0.3)),
    (r"lora_A\.", "gain", 0.7),
    (r"lora_B\.", "spread", 0.06),
    (r"embed_tokens\.weight$", "spread", 0.5),
    (r"lm_head\.weight$", "gain", 0.4),
    (r"\.(q_proj|k_proj)\.weight$", "gain", 1.3),
    (r"\.(o_proj|down_proj)(\.weight)?$", "gain", 0.7),
    (r"\.gate\.weight$", "gain", 2.0),
    (r"", "gain", 1.0),
)
# A tied head has the embedding's scale; the last norm keeps its logits small.
TIED_RULES = (
    (r"model\.norm\.weight$", "between", (0.02, 0.08)),
    (r"embed_tokens\.weight$", "spread", 0.18),
)


def fill(model, surface, seed, only_trainable=False):
    tied = TIED_RULES if getattr(model.config, "tie_word_embeddings", False) else ()
    rules = surface.init + tied + DEFAULT_RULES
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad or not only_trainable:
                parameter.copy_(_draw(name, tuple(parameter.shape), rules, seed))


def _draw(name, shape, rules, seed):
    kind, value = next((k, v) for pattern, k, v in rules if re.search(pattern, name))
    rng = generator("weight", name, seed)
    uniform = torch.from_numpy(rng.random(shape))
    if kind == "between":
        low, high = value
        return low + (high - low) * uniform
    if kind == "signed":
        low, high = value
        sign = torch.from_numpy(rng.integers(0, 2, shape)) * 2.0 - 1.0
        return sign * (low + (high - low) * uniform)
    if kind in ("spread", "gain"):
        deviation = value / math.sqrt(shape[-1]) if kind == "gain" else value
        return (2.0 * uniform - 1.0) * (deviation * math.sqrt(3.0))
    raise ValueError(f"unknown kind of weight rule: {kind}")
