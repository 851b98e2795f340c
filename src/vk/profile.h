#pragma once

#include "graph/kernel_call.h"

namespace lemnos::vk {

class Device;

/// What kernels are chosen by, of this device.
DeviceProfile profile_of(const Device& device);

}  // namespace lemnos::vk
