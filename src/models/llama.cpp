// Llama 2 and 3, SmolLM2, TinyLlama: transformers/models/llama/modeling_llama.py
#include "models/blocks.h"

namespace lemnos {
namespace {

ModelConfig read_config(ConfigReader& reader) {
  ModelConfig config = read_decoder_config(reader, {});
  config.qkv_bias = config.o_bias = reader.get_bool_or("attention_bias", false);
  config.mlp_bias = reader.get_bool_or("mlp_bias", false);
  return config;
}

ValueId build(ModelBuilder& m, const ModelConfig& config) { return pre_norm_decoder(m, config, swiglu_mlp); }

}  // namespace

extern const Family kFamily_llama;
const Family kFamily_llama{.model_type = "llama",
                           .architecture = "LlamaForCausalLM",
                           .read_config = read_config,
                           .build = build};

}  // namespace lemnos
