#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos::vk {

enum class DeviceType { discrete, integrated, cpu, other };
const char* to_string(DeviceType type);

/// What one Vulkan device offers, as far as this program asks.
struct DeviceInfo {
  uint32_t index = 0;  ///< in `list_devices()`; a valid selector
  std::string name;
  DeviceType type = DeviceType::other;
  std::string driver;       ///< name and version, "llvmpipe Mesa 22.3.6"
  std::string api_version;  ///< "1.3.230"
  /// Empty when the device can run this program, else what it lacks.
  std::string missing;

  uint64_t memory_bytes = 0;          ///< device-local heaps; system memory on a CPU device
  uint64_t max_allocation_bytes = 0;  ///< of one buffer
  uint32_t shared_memory_bytes = 0;   ///< per workgroup
  uint32_t max_push_constant_bytes = 0;
  uint32_t max_workgroup_invocations = 0;
  uint32_t subgroup_size = 0;
  uint32_t min_subgroup_size = 0;  ///< 0: the size of a pipeline cannot be required
  uint32_t max_subgroup_size = 0;
  double timestamp_period_ns = 0;  ///< 0: no timestamps

  bool int64 = false;
  bool float64 = false;
  bool shuffle = false;      ///< subgroup shuffle in compute
  bool f16_storage = false;  ///< 16-bit loads and stores in buffers
  bool f16_arithmetic = false;
  bool cooperative_matrix = false;  ///< subgroups multiply 16x16 matrices of f16 into sums of f32 (VK_KHR_cooperative_matrix)
  /// Identity of device and driver: pipelines compiled for another are of no use.
  std::array<uint8_t, 16> device_uuid{};
  std::array<uint8_t, 16> driver_uuid{};
};

/// Every device of every driver, usable or not. Throws Error{device} when there is no driver.
std::vector<DeviceInfo> list_devices();

struct DeviceOptions {
  bool validation = false;           ///< also on with LEMNOS_VALIDATION=1 and in debug builds
  bool force_gpu_path = false;       ///< also on with LEMNOS_FORCE_GPU_PATH=1
  bool pipeline_statistics = false;  ///< `PipelineCache::statistics` needs it
};

/// Bytes of all live buffers of a device: what was asked for, and what the driver took for it.
struct MemoryUse {
  uint64_t requested = 0;
  uint64_t allocated = 0;
  uint64_t peak_requested = 0;
  uint64_t peak_allocated = 0;
};

/// The device that `selector` names: empty ($LEMNOS_DEVICE when set, else discrete, else integrated,
/// else CPU), an index, "cpu" or a part of the name. Throws Error{device} that lists the devices when
/// none fits or the one that fits lacks a feature.
DeviceInfo select_device(std::string_view selector);

/// Kernels written for lavapipe (8-lane subgroups, no shared memory) are to be used.
bool uses_cpu_path(const DeviceInfo& info, const DeviceOptions& options);

class Queue;
struct DeviceHandles;  // vk/handles.h: only for this folder

/// One opened device and its compute queue. Not thread-safe; must outlive all that is made of it.
class Device {
 public:
  /// See select_device.
  static std::unique_ptr<Device> open(std::string_view selector, DeviceOptions options = {});
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceInfo& info() const;
  const DeviceOptions& options() const;
  bool cpu_path() const;  ///< see uses_cpu_path
  Queue& queue();
  MemoryUse memory_use() const;
  /// Restarts the peaks from the bytes live now.
  void reset_memory_peak();

  /// Validation errors so far; always 0 without the validation layer.
  uint64_t validation_error_count() const;
  /// The first of them, in full.
  std::vector<std::string> validation_messages() const;

  DeviceHandles& handles() const { return *handles_; }

 private:
  explicit Device(std::unique_ptr<DeviceHandles> handles);
  std::unique_ptr<DeviceHandles> handles_;
};

}  // namespace lemnos::vk
