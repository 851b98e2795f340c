"""Mixtral: softmax over all experts, top-k, weights renormalised."""

from parity import ropes
from parity.surface import BRANCH, QUIET_TIED_HEAD, Surface

# fixture_seeds: with the seeds 1, 2, 3 a top-k margin of these fixtures is under 1e-4
# (parity.margins prints them); these are the first three seeds that keep clear of ties.

# PEFT's all-linear also rewrites the experts, which the expert LoRA of a later stage covers.
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
TINY = {"intermediate_size": 20}
TILE = {"intermediate_size": 45}
FOUR = {"num_local_experts": 4, "num_experts_per_tok": 2}

SURFACES = [
    Surface(
        "mixtral", FOUR, TINY, TILE,
        lora_targets=ATTENTION,
        fixture_seeds={"tile": (1, 8, 11), "packed": (1, 5, 7), "left": (6, 7, 9)},
    ),
    Surface(
        "mixtral_window",
        {"num_local_experts": 5, "num_experts_per_tok": 3, "tie_word_embeddings": True,
         "pad_token_id": 2, "rms_norm_eps": 1e-6, "num_key_value_heads": 1},
        TINY | {"sliding_window": 3},
        TILE | {"intermediate_size": 37, "sliding_window": 33, "head_dim": 20,
                "num_attention_heads": 5},
        init=QUIET_TIED_HEAD, lora_targets=ATTENTION,
        fixture_seeds={"tile": (43, 75, 174), "packed": (1, 5, 12), "left": (25, 74, 130)},
    ),
    Surface(  # every expert taken: the router's choice is no choice, its weights still train
        "mixtral_all_experts",
        {"num_local_experts": 3, "num_experts_per_tok": 3},
        TINY | {"head_dim": 6}, TILE,
        lora_targets=ATTENTION,
    ),
    Surface(  # the load-balancing loss is part of the loss; a mask keeps padding out of it
        "mixtral_aux_loss",
        {"num_local_experts": 4, "num_experts_per_tok": 2, "output_router_logits": True,
         "router_aux_loss_coef": 0.05},
        TINY, TILE,
        lora_targets=ATTENTION,
        fixtures=("tiny", "tile", "left"),
        fixture_seeds={"tile": (9, 10, 12), "left": (5, 14, 19)},
    ),
    *(Surface(name, FOUR | config, TINY | {"head_dim": 4} | tiny, TILE | {"head_dim": 16} | tile,
              lora_targets=ATTENTION, fixtures=BRANCH, **more)
      for name, config, tiny, tile, more in (
        ("mixtral_rope_linear",
         {"rope_parameters": ropes.linear(1000000.0), "num_key_value_heads": 4}, {},
         {"num_attention_heads": 4, "head_dim": 24},
         {"legacy_config": True, "fixture_seeds": {"tile": (4, 5, 6)}}),
        ("mixtral_rope_dynamic", {"rope_parameters": ropes.dynamic(1000000.0)},
         {"max_position_embeddings": 4}, {"max_position_embeddings": 32},
         {"fixture_seeds": {"tiny": (1, 3, 4), "tile": (3, 4, 9)}}),
        ("mixtral_rope_llama3", {"rope_parameters": ropes.llama3(1000000.0)},
         {"head_dim": 8}, {},
         {"fixture_seeds": {"tile": (6, 8, 23)}}),
        ("mixtral_rope_yarn", {"rope_parameters": ropes.yarn(1000000.0, attention_factor=0.9),
                               "max_position_embeddings": 16384}, {}, {},
         {"fixture_seeds": {"tile": (5, 14, 19)}}),
        ("mixtral_rope_yarn_mscale",
         {"rope_parameters": ropes.yarn(1000000.0, factor=None, mscale=1.0, mscale_all_dim=0.8,
                                        truncate=False),
          "max_position_embeddings": 16384}, {}, {},
         {"fixture_seeds": {"tile": (19, 20, 21)}}),
        ("mixtral_rope_longrope", {},
         {"rope_parameters": ropes.longrope(10000.0, 2, 4), "max_position_embeddings": 16},
         {"rope_parameters": ropes.longrope(10000.0, 8, 32), "max_position_embeddings": 512},
         {"fixture_seeds": {"tile": (3, 12, 20)}}),
        ("mixtral_bf16", {}, {}, {},
         {"stored": "bfloat16", "fixture_seeds": {"tile": (3, 7, 13)}}),
        ("mixtral_f16", {}, {}, {},
         {"stored": "float16", "fixture_seeds": {"tile": (1, 6, 8)}}),
      )),
]
