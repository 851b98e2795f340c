#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/model_builder.h"
#include "peft/targets.h"

namespace lemnos {

/// PEFT's LoraConfig as far as it is supported; see adapter_config.h for what is refused.
struct LoraConfig {
  int64_t r = 8;
  double lora_alpha = 8;
  double lora_dropout = 0;
  TargetModules target_modules;

  double scaling() const { return lora_alpha / static_cast<double>(r); }
};

/// "base_model.model.<module>.lora_A.weight": the key in adapter_model.safetensors, also the name of
/// the graph's parameter.
std::string lora_a_name(const std::string& module);
std::string lora_b_name(const std::string& module);
/// True for a parameter that PEFT adds.
bool is_adapter_parameter(const std::string& name);

/// y + scaling * lora_B(lora_A(dropout(x))) on the targeted Linears (Hu et al. 2021; peft/tuners/lora/
/// layer.py, Linear.forward). A is [r, in], B [out, r], f32.
class LoraHook final : public LinearHook {
 public:
  /// `targets` from resolve_targets. `trainable` marks A and B as trained; `dropout` applies it.
  LoraHook(LoraConfig config, const std::vector<ModuleInfo>& targets, bool trainable, bool dropout);

  ValueId apply(ModelBuilder& m, const ModuleInfo& module, ValueId x, ValueId y) const override;

 private:
  LoraConfig config_;
  std::map<std::string, int64_t> sites_;  // module -> index among the targets (the dropout site)
  bool trainable_;
  bool dropout_;
};

/// Starting values as PEFT's default: A from kaiming_uniform(a = sqrt 5), that is uniform in
/// +-1/sqrt(in), B zero. Drawn with Philox from the seed and the module's name, so that they do not
/// depend on the set of targets.
std::vector<float> initial_lora_a(const std::string& module, int64_t r, int64_t in, uint64_t seed);

}  // namespace lemnos
