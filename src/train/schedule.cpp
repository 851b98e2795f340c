#include "train/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace lemnos::train {
namespace {

double real(int64_t value) { return static_cast<double>(value); }

double factor_after_warmup(const LrSchedule& schedule, int64_t step) {
  const int64_t decay_steps = std::max<int64_t>(1, schedule.total_steps - schedule.warmup_steps);
  switch (schedule.type) {
    case LrSchedulerType::constant:
    case LrSchedulerType::constant_with_warmup:
      return 1.0;
    case LrSchedulerType::linear:
      return std::max(0.0, real(schedule.total_steps - step) / real(decay_steps));
    case LrSchedulerType::cosine:
      break;
  }
  const double progress = real(step - schedule.warmup_steps) / real(decay_steps);
  return std::max(0.0, 0.5 * (1.0 + std::cos(std::numbers::pi * progress)));
}

}  // namespace

double LrSchedule::at(int64_t step) const {
  const bool warming = type != LrSchedulerType::constant && step < warmup_steps;
  const double factor = warming ? real(step) / real(std::max<int64_t>(1, warmup_steps))
                                : factor_after_warmup(*this, step);
  return learning_rate * factor;
}

int64_t steps_of(double value, int64_t total_steps) {
  return static_cast<int64_t>(value >= 1 ? value : std::ceil(real(total_steps) * value));
}

int64_t total_steps_of(int64_t max_steps, double num_train_epochs, int64_t steps_per_epoch) {
  if (max_steps > 0) return max_steps;
  const double steps = std::ceil(num_train_epochs * real(steps_per_epoch));
  if (steps > real(kMostSteps))
    fail(ErrorKind::usage, "num_train_epochs is {}, which are {:.0f} steps, as an epoch of this data has {}; a run has at most {}", num_train_epochs,
         steps, steps_per_epoch, kMostSteps);
  return static_cast<int64_t>(steps);
}

}  // namespace lemnos::train
