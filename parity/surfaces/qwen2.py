"""Qwen2 and Qwen2.5: biases on q, k, v; a window from max_window_layers on, or by layer_types."""

from parity import ropes
from parity.surface import BRANCH, Surface

THETA = {"rope_type": "default", "rope_theta": 1000000.0}
YARN = ropes.yarn(1000000.0, beta_fast=24.0, beta_slow=2.0)
TWO_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}

SURFACES = [
    Surface("qwen2", {"tie_word_embeddings": True, "rope_parameters": THETA}),
    Surface(
        "qwen2_window",
        {"use_sliding_window": True, "max_window_layers": 1, "pad_token_id": 2,
         "rms_norm_eps": 1e-5},
        tiny={"sliding_window": 3, "num_key_value_heads": 4},
        tile={"sliding_window": 33, "num_attention_heads": 3, "num_key_value_heads": 3},
        legacy_config=True,
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
        tiny=TWO_HEADS,
    ),
    Surface("qwen2_rope_linear", {"rope_parameters": ropes.linear(1000000.0)},
            tiny={"head_dim": 6}, tile={"head_dim": 20, "num_attention_heads": 5,
                                        "num_key_value_heads": 1}, fixtures=BRANCH),
    Surface(  # a padding token's row under a tied head
        "qwen2_rope_dynamic",
        {"rope_parameters": ropes.dynamic(1000000.0), "tie_word_embeddings": True,
         "pad_token_id": 2},
        tiny={"max_position_embeddings": 4}, tile={"max_position_embeddings": 32},
        packed_lengths=(65, 65), fixtures=BRANCH,
    ),
    Surface("qwen2_rope_llama3", {"rope_parameters": ropes.llama3(1000000.0)},
            tiny=TWO_HEADS, fixtures=BRANCH),
    Surface(
        "qwen2_rope_yarn_mscale",
        {"rope_parameters": ropes.yarn(1000000.0, factor=None, mscale=1.0, mscale_all_dim=0.8,
                                       truncate=False),
         "max_position_embeddings": 16384},
        tiny=TWO_HEADS, fixtures=BRANCH,
    ),
    Surface(
        "qwen2_rope_yarn_attention_factor",
        {"rope_parameters": ropes.yarn(1000000.0, attention_factor=0.9),
         "max_position_embeddings": 16384},
        tiny=TWO_HEADS, fixtures=BRANCH,
    ),
    Surface(
        "qwen2_rope_longrope",
        tiny={"rope_parameters": ropes.longrope(10000.0, 2, 4), "max_position_embeddings": 16},
        tile={"rope_parameters": ropes.longrope(10000.0, 8, 32), "max_position_embeddings": 512},
        fixtures=BRANCH,
    ),
    Surface("qwen2_bf16", stored="bfloat16", fixtures=BRANCH),
    Surface("qwen2_f16", stored="float16", fixtures=BRANCH),
]
