// Mistral: transformers/models/mistral/modeling_mistral.py
#include "models/blocks.h"

namespace lemnos {
namespace {

ModelConfig read_config(ConfigReader& reader) {
  ModelConfig config = read_decoder_config(reader, {.num_key_value_heads = 8});
  // MistralConfig's default is 4096; an explicit null turns the window off.
  const Json* given = reader.json().find("sliding_window");
  const bool off = given != nullptr && given->is_null();
  const int64_t window = off ? 0 : reader.get_int_or("sliding_window", 4096);
  if (!off) check_window(reader, window);
  config.sliding_window.assign(config.sliding_window.size(), window);
  return config;
}

ValueId build(ModelBuilder& m, const ModelConfig& config) { return pre_norm_decoder(m, config, swiglu_mlp); }

}  // namespace

extern const Family kFamily_mistral;
const Family kFamily_mistral{.model_type = "mistral",
                             .architecture = "MistralForCausalLM",
                             .read_config = read_config,
                             .build = build};

}  // namespace lemnos
