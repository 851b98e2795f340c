#include "vk/device.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "vk/handles.h"
#include "vk/queue.h"
#include "vk/texels.h"

namespace lemnos::vk {
namespace {

bool environment_says(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && std::string_view(value) == "1";
}

DeviceOptions with_environment(DeviceOptions options) {
#ifndef NDEBUG
  options.validation = true;
#endif
  options.validation = options.validation || environment_says("LEMNOS_VALIDATION");
  options.force_gpu_path = options.force_gpu_path || environment_says("LEMNOS_FORCE_GPU_PATH");
  return options;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string listing(const std::vector<DeviceInfo>& infos) {
  std::string text;
  for (const DeviceInfo& info : infos) {
    text += format("\n  {}: {} ({}, {})", info.index, info.name, to_string(info.type), info.driver);
    if (!info.missing.empty()) text += format(": unusable, it lacks {}", info.missing);
  }
  return text;
}

bool selects(std::string_view selector, const DeviceInfo& info) {
  uint32_t index = 0;
  const char* end = selector.data() + selector.size();
  if (const auto parsed = std::from_chars(selector.data(), end, index); parsed.ptr == end)
    return info.index == index;
  if (lower(selector) == "cpu") return info.type == DeviceType::cpu;
  return lower(info.name).find(lower(selector)) != std::string::npos;
}

const DeviceInfo& choose_default(const std::vector<DeviceInfo>& infos) {
  const DeviceInfo* best = nullptr;
  for (const DeviceInfo& info : infos) {
    if (!info.missing.empty()) continue;
    if (best == nullptr || info.type < best->type) best = &info;
  }
  if (best != nullptr) return *best;
  fail(ErrorKind::device, "no Vulkan device can run this program:{}", listing(infos));
}

const DeviceInfo& choose(std::string_view selector, const std::vector<DeviceInfo>& infos) {
  const char* const preferred = selector.empty() ? std::getenv("LEMNOS_DEVICE") : nullptr;
  if (preferred != nullptr) selector = preferred;
  if (selector.empty()) return choose_default(infos);
  const auto found = std::find_if(infos.begin(), infos.end(),
                                  [&](const DeviceInfo& info) { return selects(selector, info); });
  if (found == infos.end())
    fail(ErrorKind::device,
         "no Vulkan device is selected by {}\"{}\"; give an index, \"cpu\" or a part of a name:{}",
         preferred != nullptr ? "LEMNOS_DEVICE=" : "", selector, listing(infos));
  if (!found->missing.empty())
    fail(ErrorKind::device, "the device \"{}\" lacks {}; choose another:{}", found->name,
         found->missing, listing(infos));
  return *found;
}

uint32_t compute_queue_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return i;
  fail(ErrorKind::device, "the device has no compute queue");
}

/// Keeps of what the device offers only what kernels may use.
void enable(Features& wanted, const Features& offered) {
  VkPhysicalDeviceFeatures& core = wanted.core.features;
  core.shaderInt64 = offered.core.features.shaderInt64;
  core.shaderInt16 = offered.core.features.shaderInt16;
  core.shaderFloat64 = offered.core.features.shaderFloat64;
  wanted.v11.storageBuffer16BitAccess = offered.v11.storageBuffer16BitAccess;
  wanted.v12.storageBuffer8BitAccess = offered.v12.storageBuffer8BitAccess;
  wanted.v12.shaderFloat16 = offered.v12.shaderFloat16;
  wanted.v12.shaderInt8 = offered.v12.shaderInt8;
  wanted.v12.vulkanMemoryModel = offered.v12.vulkanMemoryModel;
  wanted.v12.vulkanMemoryModelDeviceScope = offered.v12.vulkanMemoryModelDeviceScope;
  wanted.v12.scalarBlockLayout = VK_TRUE;
  wanted.v12.timelineSemaphore = VK_TRUE;
  wanted.v12.bufferDeviceAddress = VK_TRUE;
  wanted.subgroup_size.subgroupSizeControl = offered.subgroup_size.subgroupSizeControl;
  wanted.subgroup_size.computeFullSubgroups = offered.subgroup_size.computeFullSubgroups;
  wanted.cooperative_matrix.cooperativeMatrix = offered.cooperative_matrix.cooperativeMatrix;
  wanted.executable.pipelineExecutableInfo = offered.executable.pipelineExecutableInfo;
}

void create_device(DeviceHandles& handles) {
  const std::vector<std::string> extensions = device_extensions(handles.physical);
  const bool sizes = contains(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  const bool statistics =
      handles.options.pipeline_statistics &&
      contains(extensions, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  const bool matrices = contains(extensions, kCooperativeMatrixExtension);
  Features offered;
  Features wanted;
  offered.chain_optional(sizes, statistics, matrices);
  wanted.chain_optional(sizes, statistics, matrices);
  vkGetPhysicalDeviceFeatures2(handles.physical, &offered.core);
  enable(wanted, offered);
  if (offered.subgroup_size.subgroupSizeControl == 0) handles.info.min_subgroup_size = 0;
  handles.executable_properties = offered.executable.pipelineExecutableInfo != 0;

  std::vector<const char*> names;
  if (sizes) names.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
  if (statistics) names.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  if (matrices) names.push_back(kCooperativeMatrixExtension);
  const float priority = 1;
  auto queue = vk_struct<VkDeviceQueueCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO);
  queue.queueFamilyIndex = handles.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  auto info = vk_struct<VkDeviceCreateInfo>(VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO);
  info.pNext = &wanted.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(names.size());
  info.ppEnabledExtensionNames = names.data();
  vk_check(vkCreateDevice(handles.physical, &info, nullptr, &handles.device), "vkCreateDevice");
  vkGetDeviceQueue(handles.device, handles.queue_family, 0, &handles.vk_queue);
}

void create_texel_layout(DeviceHandles& handles) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < kTexelBindings; ++i)
    bindings.push_back({i, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  auto info = vk_struct<VkDescriptorSetLayoutCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO);
  info.bindingCount = kTexelBindings;
  info.pBindings = bindings.data();
  vk_check(vkCreateDescriptorSetLayout(handles.device, &info, nullptr, &handles.texel_layout), "vkCreateDescriptorSetLayout");
}

void create_pipeline_layout(DeviceHandles& handles) {
  create_texel_layout(handles);
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, 128};
  auto info = vk_struct<VkPipelineLayoutCreateInfo>(VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO);
  info.setLayoutCount = 1;
  info.pSetLayouts = &handles.texel_layout;
  info.pushConstantRangeCount = 1;
  info.pPushConstantRanges = &range;
  vk_check(vkCreatePipelineLayout(handles.device, &info, nullptr, &handles.layout),
           "vkCreatePipelineLayout");
}

}  // namespace

std::unique_ptr<Device> Device::open(std::string_view selector, DeviceOptions options) {
  auto handles = std::make_unique<DeviceHandles>();
  handles->options = with_environment(options);
  handles->instance = std::make_unique<Instance>(handles->options.validation);
  const std::vector<VkPhysicalDevice> devices = handles->instance->devices();
  std::vector<DeviceInfo> infos;
  for (VkPhysicalDevice device : devices)
    infos.push_back(describe(handles->instance->get(), device, static_cast<uint32_t>(infos.size())));
  handles->info = choose(selector, infos);
  handles->physical = devices[handles->info.index];
  handles->queue_family = compute_queue_family(handles->physical);
  vkGetPhysicalDeviceMemoryProperties(handles->physical, &handles->memory);
  std::unique_ptr<Device> device(new Device(std::move(handles)));
  create_device(device->handles());
  create_pipeline_layout(device->handles());
  device->handles().queue = std::make_unique<Queue>(*device);
  return device;
}

Device::Device(std::unique_ptr<DeviceHandles> handles) : handles_(std::move(handles)) {}

Device::~Device() {
  if (handles_->device == VK_NULL_HANDLE) return;
  const bool used = handles_->queue != nullptr && handles_->queue->last_submitted() > 0;
  if (used) vkDeviceWaitIdle(handles_->device);
  handles_->queue.reset();
  vkDestroyPipelineLayout(handles_->device, handles_->layout, nullptr);
  vkDestroyDescriptorSetLayout(handles_->device, handles_->texel_layout, nullptr);
  vkDestroyDevice(handles_->device, nullptr);
}

const DeviceInfo& Device::info() const { return handles_->info; }
const DeviceOptions& Device::options() const { return handles_->options; }
Queue& Device::queue() { return *handles_->queue; }
MemoryUse Device::memory_use() const { return handles_->use; }

DeviceInfo select_device(std::string_view selector) { return choose(selector, list_devices()); }

bool uses_cpu_path(const DeviceInfo& info, const DeviceOptions& options) {
  return !with_environment(options).force_gpu_path && info.type == DeviceType::cpu && info.subgroup_size == 8 &&
         info.int64 && info.shuffle;
}

bool Device::cpu_path() const { return uses_cpu_path(info(), options()); }

void Device::reset_memory_peak() {
  handles_->use.peak_requested = handles_->use.requested;
  handles_->use.peak_allocated = handles_->use.allocated;
}

uint64_t Device::validation_error_count() const { return handles_->instance->log().count(); }

std::vector<std::string> Device::validation_messages() const {
  return handles_->instance->log().messages();
}

}  // namespace lemnos::vk
