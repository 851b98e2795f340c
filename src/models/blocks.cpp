#include "models/blocks.h"

#include <cmath>

#include "base/format.h"

#include "ops/elementwise/add.h"
#include "ops/elementwise/reshape.h"
#include "ops/elementwise/swiglu.h"

namespace lemnos {

ValueId self_attention(ModelBuilder& m, const ModelConfig& c, int64_t layer, ValueId x,
                       const AttentionOptions& options) {
  const auto scope = m.scope("self_attn");
  const int64_t heads = c.num_attention_heads, kv_heads = c.num_key_value_heads, hd = c.head_dim;
  const auto split = [&](ValueId y, int64_t count) { return ops::reshape(m.b(), y, {-1, count, hd}); };
  ValueId q = split(m.linear("q_proj", x, c.hidden_size, heads * hd, c.qkv_bias), heads);
  ValueId k = split(m.linear("k_proj", x, c.hidden_size, kv_heads * hd, c.qkv_bias), kv_heads);
  const ValueId v = split(m.linear("v_proj", x, c.hidden_size, kv_heads * hd, c.qkv_bias), kv_heads);
  if (options.head_norm) {
    q = m.rms_norm("q_norm", q, hd, c.rms_norm_eps);
    k = m.rms_norm("k_norm", k, hd, c.rms_norm_eps);
  }
  q = m.rope(q, c.ropes[0]);
  k = m.rope(k, c.ropes[0]);
  const double scale = 1.0 / std::sqrt(static_cast<double>(hd));
  const ValueId o = m.attention(q, k, v, scale, c.sliding_window[static_cast<size_t>(layer)]);
  return m.linear("o_proj", ops::reshape(m.b(), o, {-1, heads * hd}), heads * hd, c.hidden_size, c.o_bias);
}

ValueId swiglu_mlp(ModelBuilder& m, const ModelConfig& c, ValueId x) {
  const auto scope = m.scope("mlp");
  const ValueId gate = m.linear("gate_proj", x, c.hidden_size, c.intermediate_size, c.mlp_bias);
  const ValueId up = m.linear("up_proj", x, c.hidden_size, c.intermediate_size, c.mlp_bias);
  return m.linear("down_proj", ops::swiglu(m.b(), gate, up), c.intermediate_size, c.hidden_size, c.mlp_bias);
}

ValueId pre_norm_decoder(ModelBuilder& m, const ModelConfig& c, const Block& mlp,
                         const AttentionOptions& options) {
  const auto model = m.scope("model");
  ValueId x = m.embedding("embed_tokens", c.vocab_size, c.hidden_size, c.pad_token_id);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i) {
    const auto layer = m.scope(format("layers.{}", i));
    const ValueId normed = m.rms_norm("input_layernorm", x, c.hidden_size, c.rms_norm_eps);
    x = ops::add(m.b(), x, self_attention(m, c, i, normed, options));
    const ValueId again = m.rms_norm("post_attention_layernorm", x, c.hidden_size, c.rms_norm_eps);
    x = ops::add(m.b(), x, mlp(m, c, again));
  }
  return m.rms_norm("norm", x, c.hidden_size, c.rms_norm_eps);
}

}  // namespace lemnos
