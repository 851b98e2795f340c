#include "runtime/profile.h"

#include <algorithm>
#include <limits>

#include "vk/device.h"
#include "vk/shaders.h"

namespace lemnos {

DeviceProfile profile_of(const vk::DeviceInfo& info, bool cpu_path) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  DeviceProfile profile;
  profile.name = info.name;
  profile.cpu_path = cpu_path;
  profile.is_cpu = info.type == vk::DeviceType::cpu;
  profile.subgroup_size = info.subgroup_size;
  profile.max_shared_bytes = info.shared_memory_bytes;
  // Kernels index a tensor's elements with 32 bits; 2 GiB blocks also suit the drivers that offer
  // more on paper.
  profile.max_allocation_bytes =
      static_cast<int64_t>(std::min<uint64_t>(info.max_allocation_bytes, uint64_t{4} << 30));
  profile.memory_bytes = static_cast<int64_t>(std::min(info.memory_bytes, kMost));
  profile.split_gemm = !cpu_path && info.cooperative_matrix && info.subgroup_size == 32 && info.shared_memory_bytes >= 40 * 1024 &&
                       info.max_workgroup_invocations >= 256 && vk::has_shader("gemm_split.f32");
  profile.watchdog = info.type == vk::DeviceType::integrated;
  return profile;
}

DeviceProfile profile_of(const vk::Device& device) {
  return profile_of(device.info(), device.cpu_path());
}

}  // namespace lemnos
