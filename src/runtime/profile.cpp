#include "runtime/profile.h"

#include <algorithm>
#include <limits>

#include "vk/device.h"

namespace lemnos {

DeviceProfile profile_of(const vk::DeviceInfo& info, bool cpu_path) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  DeviceProfile profile;
  profile.name = info.name;
  profile.cpu_path = cpu_path;
  profile.subgroup_size = info.subgroup_size;
  profile.max_shared_bytes = info.shared_memory_bytes;
  // Kernels index a tensor's elements with 32 bits; 2 GiB blocks also suit the drivers that offer
  // more on paper.
  profile.max_allocation_bytes =
      static_cast<int64_t>(std::min<uint64_t>(info.max_allocation_bytes, uint64_t{4} << 30));
  profile.memory_bytes = static_cast<int64_t>(std::min(info.memory_bytes, kMost));
  profile.watchdog = info.type == vk::DeviceType::integrated;
  return profile;
}

DeviceProfile profile_of(const vk::Device& device) {
  return profile_of(device.info(), device.cpu_path());
}

}  // namespace lemnos
