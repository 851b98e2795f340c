#pragma once

#include <cstdint>

namespace lemnos::train {

enum class LrSchedulerType { constant, constant_with_warmup, linear, cosine };

/// Learning rate over a run, equal to transformers' get_scheduler.
struct LrSchedule {
  LrSchedulerType type = LrSchedulerType::linear;
  double learning_rate = 0;
  int64_t warmup_steps = 0;
  int64_t total_steps = 0;

  /// What the optimizer step number `step` uses, counted from 0. With warmup step 0 uses 0, as
  /// LambdaLR asks for the factor before it counts. `constant` knows no warmup.
  double at(int64_t step) const;
};

/// `value` >= 1: that many steps; below 1: that part of the run, rounded up. The rule of
/// transformers for warmup_steps, warmup_ratio, logging_steps and save_steps.
int64_t steps_of(double value, int64_t total_steps);

/// A count of steps that everything computed from it holds.
inline constexpr int64_t kMostSteps = 1'000'000'000;
/// Optimizer steps of a run: `max_steps` when positive, else the epochs, rounded up. Error{usage} when
/// the epochs have more than kMostSteps.
int64_t total_steps_of(int64_t max_steps, double num_train_epochs, int64_t steps_per_epoch);

}  // namespace lemnos::train
