#include "train/memory_limit.h"

#include "base/format.h"

namespace lemnos::train {

std::optional<std::string> why_too_large(const EnginePlan& plan, const TrainConfig& config, const DeviceProfile& device) {
  const int64_t limit = config.memory_limit ? config.memory_limit->bytes : device.memory_bytes;
  if (limit <= 0 || plan.peak_bytes() <= limit) return std::nullopt;
  return format("the run needs {} of device memory and {} {}; lower per_device_train_batch_size or max_length",
                byte_text(plan.peak_bytes()),
                config.memory_limit ? "memory_limit allows" : device.name + " has", byte_text(limit));
}

}  // namespace lemnos::train
