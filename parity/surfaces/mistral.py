"""Mistral: Llama with a sliding window on all layers."""

from parity import ropes
from parity.surface import BRANCH, QUIET_TIED_HEAD, Surface

YARN = ropes.yarn(1000000.0, factor=8.0, mscale=1.0, mscale_all_dim=0.8, truncate=False,
                  original_max_position_embeddings=2048)
TWO_HEADS = {"num_attention_heads": 2, "num_key_value_heads": 1}

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
    Surface("mistral_rope_linear", {"rope_parameters": ropes.linear(1000000.0)},
            tiny={"sliding_window": 2}, tile={"sliding_window": 16}, fixtures=BRANCH),
    Surface(
        "mistral_rope_dynamic",
        {"rope_parameters": ropes.dynamic(1000000.0), "sliding_window": None},
        tiny={"max_position_embeddings": 4}, tile={"max_position_embeddings": 32},
        packed_lengths=(65, 65), fixtures=BRANCH,
    ),
    Surface("mistral_rope_llama3", {"rope_parameters": ropes.llama3(1000000.0)},
            tiny=TWO_HEADS | {"sliding_window": 4}, tile={"sliding_window": 64}, fixtures=BRANCH),
    Surface(
        "mistral_rope_yarn_attention_factor",
        {"rope_parameters": ropes.yarn(1000000.0, factor=None, attention_factor=0.9),
         "max_position_embeddings": 16384},
        tiny=TWO_HEADS | {"sliding_window": 3}, tile={"sliding_window": 33}, fixtures=BRANCH,
    ),
    Surface(
        "mistral_rope_longrope",
        tiny={"rope_parameters": ropes.longrope(10000.0, 2, 4), "max_position_embeddings": 16,
              "sliding_window": 3},
        tile={"rope_parameters": ropes.longrope(10000.0, 8, 32), "max_position_embeddings": 512,
              "sliding_window": 33},
        fixtures=BRANCH,
    ),
    Surface("mistral_bf16", tiny={"sliding_window": 3}, tile={"sliding_window": 33},
            stored="bfloat16", fixtures=BRANCH),
    Surface("mistral_f16", {"sliding_window": None, "tie_word_embeddings": True},
            init=QUIET_TIED_HEAD, stored="float16", fixtures=BRANCH),
]
