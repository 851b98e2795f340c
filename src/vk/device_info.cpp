#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vk/handles.h"

namespace lemnos::vk {
namespace {

struct Properties {
  Properties() {
    core.pNext = &v11;
    v11.pNext = &v12;
  }
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  VkPhysicalDeviceProperties2 core =
      vk_struct<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
  VkPhysicalDeviceVulkan11Properties v11 = vk_struct<VkPhysicalDeviceVulkan11Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  VkPhysicalDeviceVulkan12Properties v12 = vk_struct<VkPhysicalDeviceVulkan12Properties>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
  VkPhysicalDeviceSubgroupSizeControlPropertiesEXT subgroup_size =
      vk_struct<VkPhysicalDeviceSubgroupSizeControlPropertiesEXT>(
          VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES_EXT);
};

DeviceType type_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceType::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceType::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceType::cpu;
    default:
      return DeviceType::other;
  }
}

uint64_t memory_bytes(VkPhysicalDevice device, DeviceType type) {
  if (type == DeviceType::cpu)  // lavapipe of Mesa 22 reports 2 GiB and enforces nothing of it
    return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(device, &memory);
  uint64_t total = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      total += memory.memoryHeaps[i].size;
  return total;
}

/// What the program cannot do without; everything else is optional.
std::string missing_features(uint32_t api_version, const Features& features) {
  if (api_version < VK_API_VERSION_1_2) return "Vulkan 1.2";
  if (features.v12.bufferDeviceAddress == 0) return "bufferDeviceAddress";
  if (features.v12.timelineSemaphore == 0) return "timelineSemaphore";
  if (features.v12.scalarBlockLayout == 0) return "scalarBlockLayout";
  return "";
}

void describe_limits(DeviceInfo& info, const Properties& properties) {
  const VkPhysicalDeviceLimits& limits = properties.core.properties.limits;
  info.max_allocation_bytes = properties.v11.maxMemoryAllocationSize;
  info.shared_memory_bytes = limits.maxComputeSharedMemorySize;
  info.max_push_constant_bytes = limits.maxPushConstantsSize;
  info.max_workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  info.subgroup_size = properties.v11.subgroupSize;
  info.min_subgroup_size = properties.subgroup_size.minSubgroupSize;
  info.max_subgroup_size = properties.subgroup_size.maxSubgroupSize;
  const bool in_compute =
      (properties.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  info.shuffle = in_compute && (properties.v11.subgroupSupportedOperations &
                                VK_SUBGROUP_FEATURE_SHUFFLE_BIT) != 0;
  const double period = static_cast<double>(limits.timestampPeriod);
  const bool timestamps = limits.timestampComputeAndGraphics != 0 && std::isfinite(period);
  info.timestamp_period_ns = timestamps ? period : 0;
}

/// Whether a subgroup multiplies 16x16 by 16x16 of f16 and adds to f32.
bool multiplies_f16(VkInstance instance, VkPhysicalDevice device) {
  constexpr uint32_t kFloat16 = 0, kFloat32 = 1, kSubgroup = 3;
  using List = VkResult(VKAPI_PTR*)(VkPhysicalDevice, uint32_t*, CooperativeMatrixProperties*);
  const auto list = reinterpret_cast<List>(vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t count = 0;
  if (list == nullptr || list(device, &count, nullptr) != VK_SUCCESS) return false;
  CooperativeMatrixProperties none{};
  none.sType = kCooperativeMatrixPropertiesType;
  std::vector<CooperativeMatrixProperties> kinds(count, none);
  if (list(device, &count, kinds.data()) != VK_SUCCESS) return false;
  return std::any_of(kinds.begin(), kinds.end(), [](const CooperativeMatrixProperties& kind) {
    return kind.MSize == 16 && kind.NSize == 16 && kind.KSize == 16 && kind.AType == kFloat16 && kind.BType == kFloat16 &&
           kind.CType == kFloat32 && kind.ResultType == kFloat32 && kind.scope == kSubgroup;
  });
}

void describe_features(DeviceInfo& info, const Features& features) {
  info.int64 = features.core.features.shaderInt64 != 0;
  info.float64 = features.core.features.shaderFloat64 != 0;
  info.f16_storage = features.v11.storageBuffer16BitAccess != 0;
  info.f16_arithmetic = features.v12.shaderFloat16 != 0;
}

}  // namespace

const char* to_string(DeviceType type) {
  static const char* const names[] = {"discrete", "integrated", "cpu", "other"};
  return names[static_cast<size_t>(type)];
}

Features::Features() {
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  subgroup_size.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES_EXT;
  executable.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;
  cooperative_matrix.sType = kCooperativeMatrixFeaturesType;
  core.pNext = &v11;
  v11.pNext = &v12;
}

void Features::chain_optional(bool with_subgroup_size, bool with_executable, bool with_cooperative_matrix) {
  if (with_cooperative_matrix) {
    cooperative_matrix.pNext = core.pNext;
    core.pNext = &cooperative_matrix;
  }
  if (with_subgroup_size) {
    subgroup_size.pNext = core.pNext;
    core.pNext = &subgroup_size;
  }
  if (with_executable) {
    executable.pNext = core.pNext;
    core.pNext = &executable;
  }
}

std::vector<std::string> device_extensions(VkPhysicalDevice device) {
  uint32_t count = 0;
  vk_check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr),
           "vkEnumerateDeviceExtensionProperties");
  std::vector<VkExtensionProperties> listed(count);
  vk_check(vkEnumerateDeviceExtensionProperties(device, nullptr, &count, listed.data()),
           "vkEnumerateDeviceExtensionProperties");
  std::vector<std::string> names;
  for (const VkExtensionProperties& extension : listed) names.emplace_back(extension.extensionName);
  return names;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

DeviceInfo describe(VkInstance instance, VkPhysicalDevice device, uint32_t index) {
  DeviceInfo info;
  info.index = index;
  VkPhysicalDeviceProperties basic;
  vkGetPhysicalDeviceProperties(device, &basic);
  const uint32_t api = basic.apiVersion;
  info.name = basic.deviceName;
  info.type = type_of(basic.deviceType);
  info.api_version = format("{}.{}.{}", VK_API_VERSION_MAJOR(api), VK_API_VERSION_MINOR(api),
                            VK_API_VERSION_PATCH(api));
  info.memory_bytes = memory_bytes(device, info.type);
  Features features;
  info.missing = missing_features(api, features);
  if (api < VK_API_VERSION_1_2) return info;

  const std::vector<std::string> extensions = device_extensions(device);
  Properties properties;
  if (contains(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
    properties.v12.pNext = &properties.subgroup_size;
  vkGetPhysicalDeviceProperties2(device, &properties.core);
  features.chain_optional(false, false, contains(extensions, kCooperativeMatrixExtension));
  vkGetPhysicalDeviceFeatures2(device, &features.core);
  info.missing = missing_features(api, features);
  info.driver = format("{} {}", properties.v12.driverName, properties.v12.driverInfo);
  info.cooperative_matrix = features.cooperative_matrix.cooperativeMatrix != 0 && features.v12.shaderFloat16 != 0 &&
                            features.v12.vulkanMemoryModel != 0 && multiplies_f16(instance, device);
  std::memcpy(info.device_uuid.data(), properties.v11.deviceUUID, info.device_uuid.size());
  std::memcpy(info.driver_uuid.data(), properties.v11.driverUUID, info.driver_uuid.size());
  describe_limits(info, properties);
  describe_features(info, features);
  return info;
}

std::vector<DeviceInfo> list_devices() {
  const Instance instance(false);
  std::vector<DeviceInfo> infos;
  for (VkPhysicalDevice device : instance.devices())
    infos.push_back(describe(instance.get(), device, static_cast<uint32_t>(infos.size())));
  return infos;
}

}  // namespace lemnos::vk
