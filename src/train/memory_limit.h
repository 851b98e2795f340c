#pragma once

#include <optional>
#include <string>

#include "runtime/profile.h"
#include "train/engine_plan.h"
#include "train/train_config.h"

namespace lemnos::train {

/// gradient_checkpointing.
Checkpointing checkpointing_of(const TrainConfig& config);

/// Bytes that the plan may take: `memory_limit`, or the device's memory without one; 0 when the device
/// does not say what it has.
int64_t memory_limit_of(const TrainConfig& config, const DeviceProfile& device);

/// Why the plan does not fit, what was tried and what to lower; nothing when it fits.
std::optional<std::string> why_too_large(const EnginePlan& plan, const TrainConfig& config, const DeviceProfile& device);

}  // namespace lemnos::train
