#pragma once
// Private to src/vk: Vulkan's types, and its functions as found in the loader at run time, so that the
// program starts, and says what is missing, on a machine without Vulkan.

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

// clang-format off
#define LEMNOS_VK_FUNCTIONS(X) \
  X(vkAllocateCommandBuffers) X(vkAllocateDescriptorSets) X(vkAllocateMemory) X(vkBeginCommandBuffer) X(vkBindBufferMemory) \
  X(vkCmdBindDescriptorSets) X(vkCmdBindPipeline) X(vkCmdCopyBuffer) X(vkCmdDispatch) X(vkCmdFillBuffer) \
  X(vkCmdPipelineBarrier) X(vkCmdPushConstants) X(vkCmdResetQueryPool) X(vkCmdWriteTimestamp) \
  X(vkCreateBuffer) X(vkCreateBufferView) X(vkCreateCommandPool) X(vkCreateDescriptorPool) \
  X(vkCreateDescriptorSetLayout) X(vkCreateComputePipelines) X(vkCreateDevice) \
  X(vkCreateInstance) X(vkCreatePipelineCache) X(vkCreatePipelineLayout) X(vkCreateQueryPool) \
  X(vkCreateSemaphore) X(vkCreateShaderModule) X(vkDestroyBuffer) X(vkDestroyBufferView) \
  X(vkDestroyCommandPool) X(vkDestroyDescriptorPool) X(vkDestroyDescriptorSetLayout) \
  X(vkDestroyDevice) X(vkDestroyInstance) X(vkDestroyPipeline) X(vkDestroyPipelineCache) \
  X(vkDestroyPipelineLayout) X(vkDestroyQueryPool) X(vkDestroySemaphore) X(vkDestroyShaderModule) \
  X(vkDeviceWaitIdle) X(vkEndCommandBuffer) X(vkEnumerateDeviceExtensionProperties) \
  X(vkEnumerateInstanceLayerProperties) X(vkEnumeratePhysicalDevices) X(vkFreeMemory) \
  X(vkGetBufferDeviceAddress) X(vkGetBufferMemoryRequirements) X(vkGetDeviceProcAddr) \
  X(vkGetDeviceQueue) X(vkGetInstanceProcAddr) X(vkGetPhysicalDeviceFeatures2) \
  X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceProperties) \
  X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkGetPipelineCacheData) X(vkGetQueryPoolResults) X(vkGetSemaphoreCounterValue) X(vkMapMemory) \
  X(vkQueueSubmit) X(vkResetCommandPool) X(vkUpdateDescriptorSets) X(vkWaitSemaphores)
// clang-format on

namespace lemnos::vk {

#define LEMNOS_DECLARE(name) extern PFN_##name name;
LEMNOS_VK_FUNCTIONS(LEMNOS_DECLARE)
#undef LEMNOS_DECLARE

/// Finds the functions; the first call does the work. Error{device} when the loader is not installed
/// or too old.
void load_vulkan();

/// The same from another library; for tests.
void load_vulkan_from(const char* library);

}  // namespace lemnos::vk
