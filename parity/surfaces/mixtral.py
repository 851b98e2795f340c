"""Mixtral: softmax over all experts, top-k, weights renormalised."""

from parity.surface import Surface

# fixture_seeds: with the seeds 1, 2, 3 a top-k margin of these fixtures is under 1e-4
# (parity.margins prints them); these are the first three seeds that keep clear of ties.

# PEFT's all-linear also rewrites the experts, which the expert LoRA of a later stage covers.
ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
TINY = {"intermediate_size": 20}
TILE = {"intermediate_size": 45}

SURFACES = [
    Surface(
        "mixtral", {"num_local_experts": 4, "num_experts_per_tok": 2}, TINY, TILE,
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
        lora_targets=ATTENTION,
        fixture_seeds={"tile": (42, 75, 97), "packed": (38, 85, 121), "left": (17, 74, 98)},
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
]
