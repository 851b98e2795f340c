"""Qwen3: RMSNorm on each head of q and k, head_dim always given."""

from parity.surface import Surface

THETA = {"rope_type": "default", "rope_theta": 1000000.0}
YARN = {
    "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "attention_factor": 0.9,
    "original_max_position_embeddings": 4096,
}

SURFACES = [
    Surface(  # re-conditioned: with the default scales seed 3 had a noise of 1.0e-7 in a gradient
        "qwen3",
        {"tie_word_embeddings": True, "rope_parameters": THETA},
        tiny={"head_dim": 8}, tile={"head_dim": 24},
        init=((r"embed_tokens\.weight$", "spread", 0.12), (r"v_proj\.weight$", "gain", 0.6)),
    ),
    Surface(
        "qwen3_bias",
        {"attention_bias": True, "rms_norm_eps": 1e-5, "pad_token_id": 2},
        tiny={"head_dim": 4, "num_key_value_heads": 4},
        tile={"head_dim": 32, "num_attention_heads": 3, "num_key_value_heads": 3},
    ),
    Surface(
        "qwen3_window",
        {"use_sliding_window": True, "max_window_layers": 1, "num_key_value_heads": 1},
        tiny={"head_dim": 6, "num_attention_heads": 3, "sliding_window": 3},
        tile={"head_dim": 20, "num_attention_heads": 5, "sliding_window": 33},
    ),
    Surface(
        "qwen3_rope_yarn",
        {"rope_parameters": YARN, "max_position_embeddings": 16384},
        tiny={"head_dim": 8}, tile={"head_dim": 16},
        legacy_config=True,
    ),
]
