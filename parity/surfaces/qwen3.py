"""Qwen3: RMSNorm on each head of q and k, head_dim always given."""

from parity import ropes
from parity.surface import BRANCH, Surface

THETA = {"rope_type": "default", "rope_theta": 1000000.0}
YARN = ropes.yarn(1000000.0, attention_factor=0.9)
HEADS = {"tiny": {"head_dim": 8}, "tile": {"head_dim": 16}}

# With the default scales seed 3 of a tied head had a noise of 1.0e-7 in a gradient.
TIED_SCALES = (
    (r"embed_tokens\.weight$", "spread", 0.12), (r"v_proj\.weight$", "gain", 0.6),
)

SURFACES = [
    Surface(  # re-conditioned
        "qwen3",
        {"tie_word_embeddings": True, "rope_parameters": THETA},
        tiny={"head_dim": 8}, tile={"head_dim": 24},
        init=TIED_SCALES,
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
        legacy_config=True,
    ),
    Surface(
        "qwen3_rope_yarn",
        {"rope_parameters": YARN, "max_position_embeddings": 16384},
        **HEADS,
        legacy_config=True,
    ),
    Surface(  # listed layer types, mixed the other way round than max_window_layers can
        "qwen3_layer_types",
        {"use_sliding_window": True, "rope_parameters": ropes.llama3(1000000.0)},
        tiny={"head_dim": 8, "sliding_window": 2,
              "layer_types": ["sliding_attention", "full_attention"]},
        tile={"head_dim": 16, "sliding_window": 50,
              "layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
        fixtures=BRANCH,
    ),
    Surface("qwen3_rope_linear", {"rope_parameters": ropes.linear(1000000.0)},
            fixtures=BRANCH, **HEADS),
    Surface(  # a padding token's row under a tied head
        "qwen3_rope_dynamic",
        {"rope_parameters": ropes.dynamic(1000000.0), "tie_word_embeddings": True,
         "pad_token_id": 2},
        tiny={"head_dim": 8, "max_position_embeddings": 4},
        tile={"head_dim": 16, "max_position_embeddings": 32},
        packed_lengths=(65, 65), init=TIED_SCALES, fixtures=BRANCH,
    ),
    Surface(
        "qwen3_rope_yarn_mscale",
        {"rope_parameters": ropes.yarn(1000000.0, factor=None, mscale=1.0, mscale_all_dim=0.8,
                                       truncate=False),
         "max_position_embeddings": 16384},
        fixtures=BRANCH, **HEADS,
    ),
    Surface(
        "qwen3_rope_longrope",
        tiny={"head_dim": 8, "rope_parameters": ropes.longrope(10000.0, 4, 4),
              "max_position_embeddings": 16},
        tile={"head_dim": 16, "rope_parameters": ropes.longrope(10000.0, 8, 32),
              "max_position_embeddings": 512},
        fixtures=BRANCH,
    ),
    Surface("qwen3_bf16", stored="bfloat16", fixtures=BRANCH, **HEADS),
    Surface("qwen3_f16", stored="float16", fixtures=BRANCH, **HEADS),
]
