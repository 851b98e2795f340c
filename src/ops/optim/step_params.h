#pragma once

#include <array>
#include <cstdint>

namespace lemnos {

/// Slots of the inputs `step_f32` and `step_i32`: everything that changes from step to step,
/// because recorded push constants do not. Shaders read the same slots (step_params.glsl).
enum StepFloat : int {
  kLossScale = 0,  // 1 / supervised tokens of the whole window
  kStepSize,       // lr / (1 - beta1^step)
  kBias2Sqrt,      // sqrt(1 - beta2^step)
  kEps,
  kDecay,  // 1 - lr * weight_decay
  kOneMinusBeta1,
  kBeta2,
  kOneMinusBeta2,
  kMaxNorm,  // <= 0: no clipping
  kStepFloats = 16
};
enum StepInt : int { kSeedLo = 0, kSeedHi, kStep, kMicro, kStepInts = 16 };

/// torch.optim.AdamW's settings, with its defaults.
struct AdamWSettings {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

/// The host's side of the two inputs, ready to be copied.
struct StepParams {
  std::array<float, kStepFloats> floats{};
  std::array<int32_t, kStepInts> ints{};

  /// The optimizer's slots for step 1, 2, 3 ... Computed in double and rounded once, as torch's
  /// single-tensor, non-capturable AdamW does.
  void set_optimizer(const AdamWSettings& adamw, double learning_rate, int64_t step,
                     double max_norm);
  /// `supervised_tokens` of all micro-batches of the window; zero gives a scale of zero.
  void set_loss_scale(int64_t supervised_tokens);
  void set_seed(uint64_t seed);
  void set_micro(int32_t micro_batch);
};

}  // namespace lemnos
