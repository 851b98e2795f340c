#include "models/features.h"

#include <algorithm>
#include <set>

namespace lemnos {
namespace {

/// The gradient of a padding token's row is dropped where the row is looked up, and kept where the tied
/// head multiplies by it.
constexpr std::pair<const char*, const char*> kInteracting[] = {{"tied_embeddings", "pad_token"}};

using Names = std::set<std::string>;

void add_biases(const ModelConfig& c, Names& names) {
  if (c.qkv_bias || c.o_bias) names.insert(!c.o_bias ? "qkv_bias" : !c.qkv_bias ? "o_bias" : "attention_bias");
  if (c.mlp_bias) names.insert("mlp_bias");
}

void add_heads(const ModelConfig& c, Names& names) {
  const bool all = c.num_key_value_heads == c.num_attention_heads, one = c.num_key_value_heads == 1;
  names.insert(all ? "attention:mha" : one ? "attention:mqa" : "attention:gqa");
  if (c.head_dim * c.num_attention_heads != c.hidden_size) names.insert("head_dim");
}

/// As Transformers' yarn chooses: a factor that is given, else both mscales, else the logarithm.
void add_yarn(const RopeConfig& rope, Names& names) {
  if (rope.attention_factor)
    names.insert("rope:yarn_attention_factor");
  else if (rope.mscale && rope.mscale_all_dim)
    names.insert("rope:yarn_mscale");
  if (!rope.truncate) names.insert("rope:yarn_not_truncated");
  if (!rope.factor) names.insert("rope:yarn_factor_from_lengths");
}

void add_rope(const ModelConfig& c, Names& names) {
  for (const RopeSpec& spec : c.ropes) {
    names.insert("rope:" + spec.config.rope_type);
    if (spec.config.rope_type == "yarn") add_yarn(spec.config, names);
    if (spec.config.partial_rotary_factor != 1) names.insert("rope:partial");
  }
  const Json* modern = c.json.find("rope_parameters");
  names.insert(modern != nullptr && !modern->is_null() ? "rope_keys:new" : "rope_keys:legacy");
}

void add_window(const ModelConfig& c, Names& names) {
  const auto slides = [](int64_t window) { return window > 0; };
  const auto windows = std::count_if(c.sliding_window.begin(), c.sliding_window.end(), slides);
  if (windows > 0) names.insert("sliding_window");
  if (windows > 0 && windows < std::ssize(c.sliding_window)) names.insert("layer_types:mixed");
}

void add_experts(const ModelConfig& c, Names& names) {
  if (c.num_experts > 0) names.insert(c.num_experts_per_tok == c.num_experts ? "moe:all_experts" : "moe:top_k");
}

}  // namespace

std::vector<std::string> features_of(const ModelConfig& config) {
  Names names{config.tie_word_embeddings ? "tied_embeddings" : "untied_embeddings"};
  if (config.pad_token_id >= 0) names.insert("pad_token");
  add_biases(config, names);
  add_heads(config, names);
  add_rope(config, names);
  add_window(config, names);
  add_experts(config, names);
  if (config.family->features != nullptr)
    for (std::string& name : config.family->features(config)) names.insert(std::move(name));
  return {names.begin(), names.end()};
}

std::vector<FeaturePair> interacting_pairs(const Family& family) {
  std::vector<FeaturePair> pairs(std::begin(kInteracting), std::end(kInteracting));
  pairs.insert(pairs.end(), family.interacting.begin(), family.interacting.end());
  return pairs;
}

std::vector<FeaturePair> interacting_features(const ModelConfig& config) {
  const std::vector<std::string> features = features_of(config);
  const auto has = [&](const std::string& name) { return std::binary_search(features.begin(), features.end(), name); };
  std::vector<FeaturePair> pairs = interacting_pairs(*config.family);
  std::erase_if(pairs, [&](const FeaturePair& pair) { return !has(pair.first) || !has(pair.second); });
  return pairs;
}

}  // namespace lemnos
