// Qwen 2 and 2.5: transformers/models/qwen2/modeling_qwen2.py
#include "models/blocks.h"

namespace lemnos {
namespace {

ModelConfig read_config(ConfigReader& reader) {
  ModelConfig config = read_decoder_config(reader, {.num_key_value_heads = 32});
  config.qkv_bias = true;  // fixed by the code, no field
  read_qwen_sliding_window(reader, config);
  return config;
}

ValueId build(ModelBuilder& m, const ModelConfig& config) { return pre_norm_decoder(m, config, swiglu_mlp); }

}  // namespace

extern const Family kFamily_qwen2;
const Family kFamily_qwen2{.model_type = "qwen2",
                           .architecture = "Qwen2ForCausalLM",
                           .read_config = read_config,
                           .build = build,
                           .features = qwen_sliding_window_features};

}  // namespace lemnos
