"""Llama 2/3, SmolLM2, TinyLlama."""

from parity import ropes
from parity.surface import BRANCH, Surface

LLAMA3 = ropes.llama3(10000.0)
TWO_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}

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
        {"rope_parameters": ropes.linear(10000.0)},
    ),
    Surface(  # longer than max_position_embeddings, so the base grows with the longest row
        "llama_rope_dynamic",
        {"rope_parameters": ropes.dynamic(10000.0)},
        tiny={"max_position_embeddings": 4},
        tile={"max_position_embeddings": 32},
        packed_lengths=(65, 65),
    ),
    Surface(  # the frequencies of head_dim 4 and 16 fall on both sides of both wavelengths
        "llama_rope_llama3",
        {"rope_parameters": LLAMA3, "max_position_embeddings": 512, "tie_word_embeddings": True},
        tiny=TWO_HEADS,
    ),
    Surface("llama_rope_yarn",
            {"rope_parameters": ropes.yarn(10000.0), "max_position_embeddings": 16384},
            tiny=TWO_HEADS),
    Surface(  # config.json as released checkpoints have it: rope_theta and rope_scaling
        "llama_legacy_config",
        {"rope_parameters": LLAMA3, "max_position_embeddings": 512, "attention_bias": True},
        tiny=TWO_HEADS,
        legacy_config=True,
    ),
    Surface(  # the factor comes from the two lengths
        "llama_rope_yarn_mscale",
        {"rope_parameters": ropes.yarn(10000.0, factor=None, mscale=1.0, mscale_all_dim=0.8),
         "max_position_embeddings": 16384},
        tiny=TWO_HEADS, fixtures=BRANCH,
    ),
    Surface(
        "llama_rope_yarn_attention_factor",
        {"rope_parameters": ropes.yarn(10000.0, attention_factor=0.9, truncate=False),
         "max_position_embeddings": 16384},
        tiny=TWO_HEADS, fixtures=BRANCH,
    ),
    Surface(  # every row is longer than the trained length
        "llama_rope_longrope",
        tiny={"rope_parameters": ropes.longrope(10000.0, 2, 4), "max_position_embeddings": 16},
        tile={"rope_parameters": ropes.longrope(10000.0, 8, 32), "max_position_embeddings": 512},
    ),
    Surface(  # no row is
        "llama_rope_longrope_short",
        {"max_position_embeddings": 512},
        tiny={"rope_parameters": ropes.longrope(10000.0, 2, 256, factor=2.0)},
        tile={"rope_parameters": ropes.longrope(10000.0, 8, 256, attention_factor=1.1)},
        fixtures=BRANCH,
    ),
    Surface("llama_bf16", stored="bfloat16"),
    Surface("llama_f16", {"attention_bias": True, "mlp_bias": True}, stored="float16"),
]
