#include "peft/lora.h"

#include <cmath>

#include "base/philox.h"
#include "ops/elementwise/dropout.h"
#include "ops/linear/linear.h"
#include "ops/optim/step_params.h"

namespace lemnos {
namespace {

constexpr const char* kPrefix = "base_model.model.";

/// FNV-1a: a stable number of a name.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

std::string lora_a_name(const std::string& module) { return kPrefix + module + ".lora_A.weight"; }
std::string lora_b_name(const std::string& module) { return kPrefix + module + ".lora_B.weight"; }
bool is_adapter_parameter(const std::string& name) { return name.starts_with(kPrefix); }

LoraHook::LoraHook(LoraConfig config, const std::vector<ModuleInfo>& targets, bool trainable, bool dropout)
    : config_(std::move(config)), trainable_(trainable), dropout_(dropout && config_.lora_dropout > 0) {
  for (const ModuleInfo& module : targets) sites_.emplace(module.name, static_cast<int64_t>(sites_.size()));
}

ValueId LoraHook::apply(ModelBuilder& m, const ModuleInfo& module, ValueId x, ValueId y) const {
  const auto site = sites_.find(module.name);
  if (site == sites_.end()) return y;
  Builder& b = m.b();
  const ValueId lora_a = b.parameter(lora_a_name(module.name), {config_.r, module.in_features}, DType::f32, trainable_);
  const ValueId lora_b = b.parameter(lora_b_name(module.name), {module.out_features, config_.r}, DType::f32, trainable_);
  if (dropout_) {
    const ValueId rows = b.input_once("dropout_rows", {m.options().tokens}, DType::i32);
    const ValueId step = b.input_once("step_i32", {kStepInts}, DType::i32);
    x = ops::dropout(b, x, rows, step, config_.lora_dropout, site->second);
  }
  const ValueId low = ops::linear(b, x, lora_a);
  return ops::linear(b, low, lora_b, {}, y, config_.scaling());
}

std::vector<float> initial_lora_a(const std::string& module, int64_t r, int64_t in, uint64_t seed) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  const uint64_t name = hash_of(module);
  std::vector<float> values(static_cast<size_t>(r * in));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto block = static_cast<uint32_t>(i / 4);
    const auto words = philox4x32({block, 0x6c6f7261u, static_cast<uint32_t>(name), static_cast<uint32_t>(name >> 32)},
                                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const double unit = (static_cast<double>(words[i % 4] >> 8) + 0.5) / static_cast<double>(1 << 24);
    values[i] = static_cast<float>(bound * (2.0 * unit - 1.0));
  }
  return values;
}

}  // namespace lemnos
