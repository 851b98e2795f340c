#include "models/model_builder.h"

#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/attention/attention_cached.h"
#include "ops/attention/tiles.h"
#include "ops/embed/embedding.h"
#include "ops/linear/linear.h"
#include "ops/norm/rms_norm.h"
#include "ops/rope/rope.h"

namespace lemnos {

ModelBuilder::ModelBuilder(Builder& builder, const ModelConfig& config, const BuildOptions& options)
    : builder_(builder), config_(config), options_(options) {}

ModelBuilder::Scope::Scope(ModelBuilder& m, std::string_view name) : m_(m), outer_(m.builder_.scope) {
  m_.builder_.scope = m_.full_name(name);
}

ModelBuilder::Scope::~Scope() { m_.builder_.scope = outer_; }

std::string ModelBuilder::full_name(std::string_view name) const {
  return builder_.scope.empty() ? std::string(name) : builder_.scope + "." + std::string(name);
}

ValueId ModelBuilder::parameter(const std::string& name, const Shape& shape) {
  if (const ValueId known = builder_.graph().find(name); known.valid()) {
    LEMNOS_CHECK(builder_.shape(known) == shape, "{} has two shapes", name);
    return known;
  }
  const bool trainable = options_.trainable && options_.trainable(name);
  const DType dtype = trainable || !options_.dtype ? DType::f32 : options_.dtype(name);
  return builder_.parameter(name, shape, dtype, trainable);
}

void ModelBuilder::note_module(std::string_view name, std::string_view type, int64_t in, int64_t out) {
  modules_.push_back({full_name(name), std::string(type), in, out, false});
}

ValueId ModelBuilder::linear(std::string_view name, ValueId x, int64_t in, int64_t out, bool bias) {
  const ModuleInfo module{full_name(name), "Linear", in, out, bias};
  modules_.push_back(module);
  const Scope inside(*this, name);
  const ValueId weight = parameter(module.name + ".weight", {out, in});
  const ValueId bias_value = bias ? parameter(module.name + ".bias", {out}) : ValueId{};
  const ValueId y = ops::linear(builder_, x, weight, bias_value);
  return options_.hook == nullptr ? y : options_.hook->apply(*this, module, x, y);
}

ValueId ModelBuilder::rms_norm(std::string_view name, ValueId x, int64_t width, double eps) {
  note_module(name, "RMSNorm", width, width);
  const Scope inside(*this, name);
  return ops::rms_norm(builder_, x, parameter(builder_.scope + ".weight", {width}), eps);
}

ValueId ModelBuilder::embedding(std::string_view name, int64_t rows, int64_t width, int64_t padding_idx) {
  note_module(name, "Embedding", rows, width);
  const Scope inside(*this, name);
  const ValueId ids = builder_.input_once("input_ids", {options_.tokens}, DType::i32);
  return ops::embedding(builder_, parameter(builder_.scope + ".weight", {rows, width}), ids, padding_idx);
}

ValueId ModelBuilder::rope(ValueId x, const RopeSpec& spec) {
  const auto pairs = static_cast<int64_t>(static_cast<double>(spec.head_dim) * spec.config.partial_rotary_factor) / 2;
  const Shape table{options_.positions, pairs};
  const ValueId positions = builder_.input_once("positions", {options_.tokens}, DType::i32);
  const ValueId cos = builder_.input_once("rope_cos" + spec.suffix, table, DType::f32);
  const ValueId sin = builder_.input_once("rope_sin" + spec.suffix, table, DType::f32);
  return ops::rope(builder_, x, positions, cos, sin);
}

ValueId ModelBuilder::attention(ValueId q, ValueId k, ValueId v, double scale, int64_t window) {
  if (options_.cache_capacity == 0) {
    const Shape table{attention_tile_count(options_.tokens, options_.max_segments), 4};
    const ValueId tiles = builder_.input_once("attn_tiles", table, DType::i32);
    return ops::attention(builder_, q, k, v, tiles, scale, window);
  }
  const auto cache = [&](const char* kind, ValueId of) {
    Shape shape = builder_.shape(of);
    shape[0] = options_.cache_capacity;
    return builder_.state(format("cache/{}/{}", kind, cached_layers_), shape);
  };
  const ValueId k_cache = cache("k", k), v_cache = cache("v", v);
  ++cached_layers_;
  const ValueId length = builder_.input_once("cache_length", {1}, DType::i32);
  return ops::attention_cached(builder_, q, k, v, k_cache, v_cache, length, scale, window);
}

ValueId head_weight(ModelBuilder& m, const ModelConfig& config) {
  const Shape shape{config.vocab_size, config.hidden_size};
  if (config.tie_word_embeddings) return m.parameter("model.embed_tokens.weight", shape);
  return m.parameter("lm_head.weight", shape);
}

ModelOutline outline(const ModelConfig& config, const LinearHook* hook) {
  Graph graph;
  Builder builder(graph);
  constexpr int64_t kTokens = 2;
  const BuildOptions options{.tokens = kTokens, .positions = kTokens, .hook = hook};
  ModelBuilder m(builder, config, options);
  config.family->build(m, config);
  head_weight(m, config);
  ModelOutline result{m.modules(), {}};
  result.modules.push_back({"lm_head", "Linear", config.hidden_size, config.vocab_size, false});
  for (const ValueId id : graph.of_kind(ValueKind::parameter)) result.parameters.push_back(graph[id]);
  return result;
}

}  // namespace lemnos
