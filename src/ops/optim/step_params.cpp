#include "ops/optim/step_params.h"

#include <cmath>

#include "base/error.h"

namespace lemnos {

void StepParams::set_optimizer(const AdamWSettings& adamw, double learning_rate, int64_t step,
                               double max_norm) {
  LEMNOS_CHECK(step >= 1, "AdamW counts its steps from 1, not {}", step);
  const auto count = static_cast<double>(step);
  const double bias1 = 1.0 - std::pow(adamw.beta1, count);
  const double bias2 = 1.0 - std::pow(adamw.beta2, count);
  floats[kStepSize] = static_cast<float>(learning_rate / bias1);
  floats[kBias2Sqrt] = static_cast<float>(std::pow(bias2, 0.5));
  floats[kEps] = static_cast<float>(adamw.eps);
  floats[kDecay] = static_cast<float>(1.0 - learning_rate * adamw.weight_decay);
  floats[kOneMinusBeta1] = static_cast<float>(1.0 - adamw.beta1);
  floats[kBeta2] = static_cast<float>(adamw.beta2);
  floats[kOneMinusBeta2] = static_cast<float>(1.0 - adamw.beta2);
  floats[kMaxNorm] = static_cast<float>(max_norm);
  ints[kStep] = static_cast<int32_t>(step);
}

void StepParams::set_loss_scale(int64_t supervised_tokens) {
  const double scale = supervised_tokens > 0 ? 1.0 / static_cast<double>(supervised_tokens) : 0.0;
  floats[kLossScale] = static_cast<float>(scale);
}

void StepParams::set_seed(uint64_t seed) {
  ints[kSeedLo] = static_cast<int32_t>(static_cast<uint32_t>(seed));
  ints[kSeedHi] = static_cast<int32_t>(static_cast<uint32_t>(seed >> 32));
}

void StepParams::set_micro(int32_t micro_batch) { ints[kMicro] = micro_batch; }

}  // namespace lemnos
