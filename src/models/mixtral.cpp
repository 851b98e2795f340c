// Mixtral: transformers/models/mixtral/modeling_mixtral.py
#include "base/error.h"
#include "models/blocks.h"
#include "ops/linear/linear.h"
#include "ops/moe/grouped_linear.h"
#include "ops/moe/moe_gather.h"
#include "ops/moe/moe_route.h"
#include "ops/moe/moe_sort.h"
#include "ops/moe/swiglu_fused.h"

namespace lemnos {
namespace {

ModelConfig read_config(ConfigReader& reader) {
  ModelConfig config = read_decoder_config(reader, {.num_key_value_heads = 8, .rms_norm_eps = 1e-5});
  config.num_experts = reader.get_int_or("num_local_experts", 8);
  config.num_experts_per_tok = reader.get_int_or("num_experts_per_tok", 2);
  check_size(reader, "num_local_experts", config.num_experts, kMostParts);
  if (config.num_experts_per_tok < 1 || config.num_experts_per_tok > config.num_experts)
    reader.fail_field("num_experts_per_tok", format("1 to num_local_experts {}", config.num_experts));
  const int64_t window = reader.get_int_or("sliding_window", 0);  // 0: none
  if (window != 0) check_window(reader, window);
  config.sliding_window.assign(config.sliding_window.size(), window);
  reader.expect("router_jitter_noise", 0.0);
  reader.expect("output_router_logits", false);  // true adds the load-balancing loss
  reader.ignore("router_aux_loss_coef");         // used with output_router_logits only
  return config;
}

/// MixtralSparseMoeBlock: softmax router, top-k experts, each a SwiGLU MLP.
ValueId sparse_moe(ModelBuilder& m, const ModelConfig& c, ValueId x) {
  const auto scope = m.scope("mlp");
  const int64_t experts = c.num_experts, hidden = c.hidden_size, inner = c.intermediate_size;
  m.note_module("gate", "Router", hidden, experts);
  m.note_module("experts", "Experts", hidden, hidden);
  const ValueId gate = m.parameter(m.full_name("gate.weight"), {experts, hidden});
  const ValueId gate_up_proj = m.parameter(m.full_name("experts.gate_up_proj"), {experts, 2 * inner, hidden});
  const ValueId down_proj = m.parameter(m.full_name("experts.down_proj"), {experts, hidden, inner});

  const ValueId logits = ops::linear(m.b(), x, gate);
  const ops::Routing routing = ops::moe_route(m.b(), logits, c.num_experts_per_tok, /*norm_topk_prob=*/true);
  const ops::ExpertRows rows = ops::moe_sort(m.b(), routing.experts, experts);
  const ValueId xs = ops::moe_gather(m.b(), x, rows);
  const ValueId inside = ops::swiglu_fused(m.b(), ops::grouped_linear(m.b(), xs, gate_up_proj, rows.offsets));
  const ValueId ys = ops::grouped_linear(m.b(), inside, down_proj, rows.offsets);
  return ops::moe_combine(m.b(), ys, routing.weights, rows);
}

ValueId build(ModelBuilder& m, const ModelConfig& config) { return pre_norm_decoder(m, config, sparse_moe); }

/// On disk each expert has its own w1 (gate), w3 (up) and w2 (down), under "block_sparse_moe".
std::vector<DiskSlice> layout(const ModelConfig& c, const std::string& parameter, const Shape& shape) {
  const size_t mlp = parameter.find(".mlp.");
  if (mlp == std::string::npos) return {{parameter, shape, 0}};
  const std::string block = parameter.substr(0, mlp) + ".block_sparse_moe.";
  if (parameter.ends_with(".gate.weight")) return {{block + "gate.weight", shape, 0}};
  const int64_t hidden = c.hidden_size, inner = c.intermediate_size, part = inner * hidden;
  std::vector<DiskSlice> slices;
  for (int64_t e = 0; e < c.num_experts; ++e) {
    const std::string expert = block + format("experts.{}.", e);
    if (parameter.ends_with(".gate_up_proj")) {
      slices.push_back({expert + "w1.weight", {inner, hidden}, 2 * e * part});
      slices.push_back({expert + "w3.weight", {inner, hidden}, (2 * e + 1) * part});
    } else {
      slices.push_back({expert + "w2.weight", {hidden, inner}, e * part});
    }
  }
  return slices;
}

}  // namespace

extern const Family kFamily_mixtral;
const Family kFamily_mixtral{.model_type = "mixtral",
                             .architecture = "MixtralForCausalLM",
                             .read_config = read_config,
                             .build = build,
                             .layout = layout};

}  // namespace lemnos
