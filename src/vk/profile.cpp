#include "vk/profile.h"

#include "vk/device.h"

namespace lemnos::vk {

DeviceProfile profile_of(const Device& device) {
  const DeviceInfo& info = device.info();
  DeviceProfile profile;
  profile.name = info.name;
  profile.cpu_path = device.cpu_path();
  profile.subgroup_size = info.subgroup_size;
  profile.max_shared_bytes = info.shared_memory_bytes;
  profile.max_allocation_bytes = static_cast<int64_t>(info.max_allocation_bytes);
  profile.memory_bytes = static_cast<int64_t>(info.memory_bytes);
  profile.watchdog = info.type != DeviceType::cpu;
  return profile;
}

}  // namespace lemnos::vk
