"""Qwen2 and Qwen2.5: biases on q, k, v; a window from max_window_layers on, or by layer_types."""

from parity.surface import Surface

THETA = {"rope_type": "default", "rope_theta": 1000000.0}
YARN = {
    "rope_type": "yarn", "rope_theta": 1000000.0, "factor": 4.0, "beta_fast": 24.0,
    "beta_slow": 2.0, "original_max_position_embeddings": 4096,
}

SURFACES = [
    Surface("qwen2", {"tie_word_embeddings": True, "rope_parameters": THETA}),
    Surface(
        "qwen2_window",
        {"use_sliding_window": True, "max_window_layers": 1, "pad_token_id": 2,
         "rms_norm_eps": 1e-5},
        tiny={"sliding_window": 3, "num_key_value_heads": 4},
        tile={"sliding_window": 33, "num_attention_heads": 3, "num_key_value_heads": 3},
    ),
    Surface(  # a window that use_sliding_window switches off
        "qwen2_window_off",
        {"use_sliding_window": False, "sliding_window": 2, "max_window_layers": 0,
         "rope_parameters": THETA},
        legacy_config=True,
    ),
    Surface(
        "qwen2_layer_types",
        {"use_sliding_window": True, "num_key_value_heads": 1},
        tiny={"sliding_window": 2, "layer_types": ["sliding_attention", "full_attention"]},
        tile={"sliding_window": 50,
              "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
    ),
    Surface(
        "qwen2_rope_yarn",
        {"rope_parameters": YARN, "max_position_embeddings": 16384, "tie_word_embeddings": True},
        tiny={"num_attention_heads": 2, "num_key_value_heads": 1},
    ),
]
