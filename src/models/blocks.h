#pragma once

#include <functional>

#include "models/model_builder.h"

namespace lemnos {

/// The blocks that decoder families are put together from. `x` is the hidden state [N, H].
struct AttentionOptions {
  bool head_norm = false;  // q_norm and k_norm per head before RoPE (Qwen 3)
};

/// self_attn: q_proj, k_proj, v_proj, RoPE, causal attention, o_proj
/// (transformers/models/llama/modeling_llama.py, LlamaAttention).
ValueId self_attention(ModelBuilder& m, const ModelConfig& config, int64_t layer, ValueId x,
                       const AttentionOptions& options = {});

/// mlp: down_proj(silu(gate_proj x) * up_proj x) (LlamaMLP).
ValueId swiglu_mlp(ModelBuilder& m, const ModelConfig& config, ValueId x);

/// embed_tokens, pre-norm layers of attention and `mlp`, last norm (LlamaModel).
using Block = std::function<ValueId(ModelBuilder&, const ModelConfig&, ValueId)>;
ValueId pre_norm_decoder(ModelBuilder& m, const ModelConfig& config, const Block& mlp,
                         const AttentionOptions& options = {});

}  // namespace lemnos
