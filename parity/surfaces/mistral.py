"""Mistral: Llama with a sliding window on all layers."""

from parity.surface import Surface

YARN = {
    "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 8.0, "mscale": 1.0,
    "mscale_all_dim": 0.8, "truncate": False, "original_max_position_embeddings": 2048,
}

SURFACES = [
    Surface("mistral", tiny={"sliding_window": 3}, tile={"sliding_window": 33}),
    Surface(
        "mistral_full",
        {"sliding_window": None, "tie_word_embeddings": True, "rms_norm_eps": 1e-5,
         "pad_token_id": 0},
        tiny={"head_dim": 6},
        tile={"head_dim": 20, "num_attention_heads": 5, "num_key_value_heads": 1},
    ),
    Surface(
        "mistral_rope_yarn",
        {"rope_parameters": YARN, "max_position_embeddings": 16384, "sliding_window": None},
        tiny={"num_attention_heads": 2, "num_key_value_heads": 2},
        tile={"num_attention_heads": 3, "num_key_value_heads": 3},
    ),
    Surface(  # a window as long as the row hides nothing, one longer neither
        "mistral_wide_window",
        {"rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}},
        tiny={"sliding_window": 6}, tile={"sliding_window": 4096},
        legacy_config=True,
    ),
]
