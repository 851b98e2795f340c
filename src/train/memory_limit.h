#pragma once

#include <optional>
#include <string>

#include "runtime/profile.h"
#include "train/engine_plan.h"
#include "train/train_config.h"

namespace lemnos::train {

/// Why the plan does not fit into `memory_limit`, or the device's memory without one, and what to
/// lower; nothing when it fits or the device does not say what it has.
std::optional<std::string> why_too_large(const EnginePlan& plan, const TrainConfig& config, const DeviceProfile& device);

}  // namespace lemnos::train
