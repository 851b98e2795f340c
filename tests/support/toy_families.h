#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/toy_engine.h"

namespace lemnos::test {

/// A toy of every family, with what makes its graph differ from the others'.
inline std::vector<ModelConfig> toy_families() {
  static const std::map<std::string, const char*> kMore = {
      {"llama", R"({"attention_bias": true, "mlp_bias": true})"},
      {"mistral", R"({"sliding_window": 5})"},
      {"mixtral", R"({"num_local_experts": 4, "num_experts_per_tok": 2})"},
      {"qwen2", R"({"tie_word_embeddings": true})"},
      {"qwen3", R"({"head_dim": 8})"}};
  std::vector<ModelConfig> models;
  for (const Family* family : families()) {
    const auto more = kMore.find(family->model_type);
    models.push_back(toy_model(family->model_type, more == kMore.end() ? "{}" : more->second));
  }
  return models;
}

/// LoRA with dropout on every Linear (experts are none yet).
inline LoraConfig toy_lora(const ModelConfig& model) {
  const std::vector<std::string> attention{"q_proj", "k_proj", "v_proj", "o_proj"};
  LoraConfig lora{.r = 2, .lora_alpha = 4, .lora_dropout = 0.1, .target_modules = {std::string("all-linear")}};
  if (model.num_experts > 0) lora.target_modules = {attention};
  return lora;
}

/// Full training and LoRA of every family.
inline std::vector<EngineSetup> toy_setups(const std::vector<Bucket>& buckets) {
  std::vector<EngineSetup> setups;
  for (const ModelConfig& model : toy_families())
    for (const bool lora : {false, true}) {
      setups.push_back({.model = model, .buckets = buckets});
      if (lora) setups.back().lora = toy_lora(model);
    }
  return setups;
}

/// "qwen3 lora"
inline std::string name_of(const EngineSetup& setup) {
  return std::string(setup.model.family->model_type) + (setup.lora ? " lora" : " full");
}

}  // namespace lemnos::test
