#pragma once

#include "graph/kernel_call.h"

namespace lemnos {

namespace vk {
class Device;
struct DeviceInfo;
}  // namespace vk

/// What kernels may know of an opened device.
DeviceProfile profile_of(const vk::Device& device);

/// The same from its description alone, before the device is opened.
DeviceProfile profile_of(const vk::DeviceInfo& info, bool cpu_path);

}  // namespace lemnos
