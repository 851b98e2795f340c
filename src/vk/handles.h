#pragma once
// Private to src/vk: the Vulkan types behind the public headers.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "vk/device.h"
#include "vk/functions.h"

namespace lemnos::vk {

const char* result_name(VkResult result);
/// Throws the Error that `result` of `call` means to the user.
[[noreturn]] void fail_result(VkResult result, const char* call);

inline void vk_check(VkResult result, const char* call) {
  if (result < 0) [[unlikely]]
    fail_result(result, call);
}

/// What the validation layer said; filled from any thread.
class ValidationLog {
 public:
  void add(std::string message);
  uint64_t count() const;
  std::vector<std::string> messages() const;

 private:
  mutable std::mutex mutex_;
  uint64_t count_ = 0;
  std::vector<std::string> messages_;
};

/// A VkInstance, with the validation layer and its messenger where wanted and installed.
class Instance {
 public:
  explicit Instance(bool validation);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance get() const { return instance_; }
  const ValidationLog& log() const { return log_; }
  std::vector<VkPhysicalDevice> devices() const;

 private:
  ValidationLog log_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

/// VkPhysicalDeviceCooperativeMatrixFeaturesKHR, which Debian 12's headers lack (Vulkan 1.3.255).
struct CooperativeMatrixFeatures {
  VkStructureType sType;
  void* pNext;
  VkBool32 cooperativeMatrix;
  VkBool32 cooperativeMatrixRobustBufferAccess;
};
/// VkCooperativeMatrixPropertiesKHR: one kind of product that the device has.
struct CooperativeMatrixProperties {
  VkStructureType sType;
  void* pNext;
  uint32_t MSize, NSize, KSize;
  uint32_t AType, BType, CType, ResultType;  // VkComponentTypeKHR
  VkBool32 saturatingAccumulation;
  uint32_t scope;  // VkScopeKHR
};
inline constexpr auto kCooperativeMatrixPropertiesType = static_cast<VkStructureType>(1000506001);
inline constexpr auto kCooperativeMatrixFeaturesType = static_cast<VkStructureType>(1000506000);
inline constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";

/// The feature structs this program knows, chained in one place.
struct Features {
  Features();
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
  VkPhysicalDeviceFeatures2 core{};
  VkPhysicalDeviceVulkan11Features v11{};
  VkPhysicalDeviceVulkan12Features v12{};
  VkPhysicalDeviceSubgroupSizeControlFeaturesEXT subgroup_size{};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable{};
  CooperativeMatrixFeatures cooperative_matrix{};
  /// Appends the structs of optional extensions that the device has.
  void chain_optional(bool with_subgroup_size, bool with_executable, bool with_cooperative_matrix);
};

std::vector<std::string> device_extensions(VkPhysicalDevice device);
bool contains(const std::vector<std::string>& names, std::string_view name);
DeviceInfo describe(VkInstance instance, VkPhysicalDevice device, uint32_t index);

/// A buffer in the table by device address.
struct AddressedBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

struct DeviceHandles {
  std::unique_ptr<Instance> instance;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue vk_queue = VK_NULL_HANDLE;
  uint32_t queue_family = 0;
  VkDescriptorSetLayout texel_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;  ///< of every pipeline: push constants, and texel buffers where it has some
  std::map<uint64_t, AddressedBuffer> buffers;  ///< all that live
  VkPhysicalDeviceMemoryProperties memory{};
  bool executable_properties = false;
  DeviceInfo info;
  DeviceOptions options;
  MemoryUse use;
  std::unique_ptr<Queue> queue;
};

/// A Vulkan struct of zeros with its type set.
template <typename T>
T vk_struct(VkStructureType type) {
  T value{};
  value.sType = type;
  return value;
}

template <typename Handle>
Handle handle_of(uint64_t value) {
  return reinterpret_cast<Handle>(value);
}
template <typename Handle>
uint64_t opaque(Handle handle) {
  return reinterpret_cast<uint64_t>(handle);
}

}  // namespace lemnos::vk
