"""Llama 2/3, SmolLM2, TinyLlama."""

from parity.surface import Surface

LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 64,
}
YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 4096,
}

SURFACES = [
    Surface("llama"),
    Surface(  # multi-query; token 2 pads: its embedding row gets no gradient, the tied head's does
        "llama_tied_pad",
        {"tie_word_embeddings": True, "pad_token_id": 2, "num_key_value_heads": 1,
         "rms_norm_eps": 1e-5},
    ),
    Surface(  # multi-head, odd head count and sizes that no tile divides
        "llama_bias",
        {"attention_bias": True, "mlp_bias": True},
        tiny={"num_attention_heads": 2, "num_key_value_heads": 2},
        tile={"hidden_size": 90, "num_attention_heads": 3, "num_key_value_heads": 3},
    ),
    Surface(  # head_dim is not hidden_size / heads
        "llama_head_dim",
        {"rms_norm_eps": 1e-5},
        tiny={"head_dim": 6},
        tile={"head_dim": 24, "num_attention_heads": 3, "num_key_value_heads": 1},
    ),
    Surface(
        "llama_rope_linear",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}},
    ),
    Surface(  # longer than max_position_embeddings, so the base grows with the longest row
        "llama_rope_dynamic",
        {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}},
        tiny={"max_position_embeddings": 4},
        tile={"max_position_embeddings": 32},
        packed_lengths=(65, 65),
    ),
    Surface(  # the frequencies of head_dim 4 and 16 fall on both sides of both wavelengths
        "llama_rope_llama3",
        {"rope_parameters": LLAMA3, "max_position_embeddings": 512, "tie_word_embeddings": True},
        tiny={"num_attention_heads": 2, "num_key_value_heads": 1},
    ),
    Surface("llama_rope_yarn", {"rope_parameters": YARN, "max_position_embeddings": 16384},
            tiny={"num_attention_heads": 2, "num_key_value_heads": 1}),
    Surface(  # config.json as released checkpoints have it: rope_theta and rope_scaling
        "llama_legacy_config",
        {"rope_parameters": LLAMA3, "max_position_embeddings": 512, "attention_bias": True},
        tiny={"num_attention_heads": 2, "num_key_value_heads": 1},
        legacy_config=True,
    ),
]
