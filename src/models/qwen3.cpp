// Qwen 3 (dense): transformers/models/qwen3/modeling_qwen3.py
#include "models/blocks.h"

namespace lemnos {
namespace {

ModelConfig read_config(ConfigReader& reader) {
  ModelConfig config = read_decoder_config(reader, {.num_key_value_heads = 32, .head_dim = 128});
  config.qkv_bias = config.o_bias = reader.get_bool_or("attention_bias", false);
  read_qwen_sliding_window(reader, config);
  return config;
}

ValueId build(ModelBuilder& m, const ModelConfig& config) {
  return pre_norm_decoder(m, config, swiglu_mlp, {.head_norm = true});
}

std::vector<std::string> features(const ModelConfig& config) {
  std::vector<std::string> names = qwen_sliding_window_features(config);
  names.push_back("q_norm");
  return names;
}

}  // namespace

extern const Family kFamily_qwen3;
const Family kFamily_qwen3{.model_type = "qwen3",
                           .architecture = "Qwen3ForCausalLM",
                           .read_config = read_config,
                           .build = build,
                           .features = features};

}  // namespace lemnos
