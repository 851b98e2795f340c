#include "train/memory_limit.h"

#include <algorithm>

#include "base/format.h"

namespace lemnos::train {

Checkpointing checkpointing_of(const TrainConfig& config) {
  if (!config.gradient_checkpointing) return Checkpointing::when_needed;
  return *config.gradient_checkpointing ? Checkpointing::every_layer : Checkpointing::never;
}

int64_t memory_limit_of(const TrainConfig& config, const DeviceProfile& device) {
  return config.memory_limit ? config.memory_limit->bytes : std::max<int64_t>(device.memory_bytes, 0);
}

std::optional<std::string> why_too_large(const EnginePlan& plan, const TrainConfig& config, const DeviceProfile& device) {
  const int64_t limit = memory_limit_of(config, device);
  if (limit == 0 || plan.peak_bytes() <= limit) return std::nullopt;
  const bool kept = checkpointing_of(config) == Checkpointing::never;
  return format("the run needs {} of device memory{} and {} {}; lower per_device_train_batch_size or max_length{}",
                byte_text(plan.peak_bytes()),
                kept ? "" : ", although every layer's activations are made again in the backward pass,",
                config.memory_limit ? "memory_limit allows" : device.name + " has", byte_text(limit),
                kept ? ", or leave gradient_checkpointing to auto" : "");
}

}  // namespace lemnos::train
