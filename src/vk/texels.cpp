#include "vk/texels.h"

#include <array>

#include "vk/handles.h"

namespace lemnos::vk {
namespace {

constexpr uint32_t kSetsPerPool = 256;

/// The buffer that holds the range.
const AddressedBuffer& buffer_of(const DeviceHandles& handles, const TexelRange& range) {
  auto found = handles.buffers.upper_bound(range.address);
  LEMNOS_CHECK(found != handles.buffers.begin(), "no buffer at {:#x}", range.address);
  --found;
  const uint64_t offset = range.address - found->first;
  LEMNOS_CHECK(range.address % 16 == 0 && range.bytes > 0 && offset + range.bytes <= found->second.bytes,
               "a texel buffer of {} bytes at {} of {}", range.bytes, offset, found->second.bytes);
  return found->second;
}

}  // namespace

TexelSets::~TexelSets() {
  const VkDevice device = device_.handles().device;
  for (const uint64_t pool : pools_) vkDestroyDescriptorPool(device, handle_of<VkDescriptorPool>(pool), nullptr);
  for (const auto& [range, view] : views_) vkDestroyBufferView(device, handle_of<VkBufferView>(view), nullptr);
}

uint64_t TexelSets::view_of(const TexelRange& range) {
  if (const auto found = views_.find(range); found != views_.end()) return found->second;
  const DeviceHandles& handles = device_.handles();
  const AddressedBuffer& buffer = buffer_of(handles, range);
  auto info = vk_struct<VkBufferViewCreateInfo>(VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO);
  info.buffer = buffer.buffer;
  info.format = range.format == TexelFormat::f32x4 ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R32G32_UINT;
  info.offset = range.address - buffer.address;
  info.range = range.bytes;
  VkBufferView view = VK_NULL_HANDLE;
  vk_check(vkCreateBufferView(handles.device, &info, nullptr, &view), "vkCreateBufferView");
  return views_[range] = opaque(view);
}

uint64_t TexelSets::new_set() {
  const DeviceHandles& handles = device_.handles();
  if (left_in_pool_ == 0) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, kSetsPerPool * kTexelBindings};
    auto info = vk_struct<VkDescriptorPoolCreateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO);
    info.maxSets = kSetsPerPool;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    VkDescriptorPool pool = VK_NULL_HANDLE;
    vk_check(vkCreateDescriptorPool(handles.device, &info, nullptr, &pool), "vkCreateDescriptorPool");
    pools_.push_back(opaque(pool));
    left_in_pool_ = kSetsPerPool;
  }
  auto info = vk_struct<VkDescriptorSetAllocateInfo>(VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO);
  info.descriptorPool = handle_of<VkDescriptorPool>(pools_.back());
  info.descriptorSetCount = 1;
  info.pSetLayouts = &handles.texel_layout;
  VkDescriptorSet set = VK_NULL_HANDLE;
  vk_check(vkAllocateDescriptorSets(handles.device, &info, &set), "vkAllocateDescriptorSets");
  --left_in_pool_;
  return opaque(set);
}

uint64_t TexelSets::set_of(std::span<const TexelRange> ranges) {
  LEMNOS_CHECK(ranges.size() <= kTexelBindings, "{} texel buffers", ranges.size());
  const std::vector<TexelRange> key(ranges.begin(), ranges.end());
  if (const auto found = sets_.find(key); found != sets_.end()) return found->second;
  std::array<VkBufferView, kTexelBindings> views{};
  for (size_t i = 0; i < ranges.size(); ++i) views[i] = handle_of<VkBufferView>(view_of(ranges[i]));
  const uint64_t set = new_set();
  auto write = vk_struct<VkWriteDescriptorSet>(VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET);
  write.dstSet = handle_of<VkDescriptorSet>(set);
  write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
  for (uint32_t i = 0; i < ranges.size(); ++i) {
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.pTexelBufferView = &views[i];
    vkUpdateDescriptorSets(device_.handles().device, 1, &write, 0, nullptr);
  }
  return sets_[key] = set;
}

}  // namespace lemnos::vk
