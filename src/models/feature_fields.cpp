#include "models/feature_fields.h"

#include "base/format.h"

namespace lemnos {
namespace {

struct Row {
  std::string_view feature;  // ends in ':': all that begin so and have no row above
  std::vector<std::string_view> fields;
};

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {"tied_embeddings", {"tie_word_embeddings"}},
      {"untied_embeddings", {"tie_word_embeddings"}},
      {"pad_token", {"pad_token_id"}},
      {"qkv_bias", {"attention_bias"}},
      {"o_bias", {"attention_bias"}},
      {"attention_bias", {"attention_bias"}},
      {"mlp_bias", {"mlp_bias"}},
      {"head_dim", {"head_dim", "hidden_size", "num_attention_heads"}},
      {"sliding_window", {"sliding_window", "use_sliding_window", "layer_types"}},
      {"layer_types:", {"layer_types", "use_sliding_window", "max_window_layers"}},
      {"attention:", {"num_attention_heads", "num_key_value_heads"}},
      {"moe:", {"num_local_experts", "num_experts_per_tok"}},
      {"rope:yarn_attention_factor", {"attention_factor"}},
      {"rope:yarn_mscale", {"mscale", "mscale_all_dim"}},
      {"rope:yarn_not_truncated", {"truncate"}},
      {"rope:yarn_factor_from_lengths", {"factor"}},
      {"rope:partial", {"partial_rotary_factor"}},
      {"rope:", {"rope_type", "type"}},
      {"rope_keys:", {"rope_parameters", "rope_scaling", "rope_theta"}}};
  return rows;
}

const Row* row_of(const std::string& feature) {
  for (const Row& row : table())
    if (row.feature == feature || (row.feature.ends_with(':') && feature.starts_with(row.feature))) return &row;
  return nullptr;
}

/// "{...}" for what would not fit a line.
std::string value_text(const Json& value) {
  constexpr size_t kLongest = 40;
  const std::string text = value.dump();
  return text.size() <= kLongest ? text : value.is_array() ? "[...]" : "{...}";
}

}  // namespace

std::string fields_behind(const ModelConfig& config, const std::string& feature) {
  const Row* row = row_of(feature);
  std::string text;
  if (row == nullptr) return text;
  const auto add = [&](const Json* object, std::string_view inside, std::string_view key) {
    const Json* value = object == nullptr ? nullptr : object->find(key);
    if (value == nullptr) return;
    text += lemnos::format("{}{}{}{} = {}", text.empty() ? "" : ", ", inside, inside.empty() ? "" : ".", key, value_text(*value));
  };
  for (const std::string_view key : row->fields) {
    add(&config.json, "", key);
    for (const std::string_view section : {"rope_scaling", "rope_parameters"})
      if (feature.starts_with("rope:")) add(config.json.find(section), section, key);
  }
  return text;
}

}  // namespace lemnos
