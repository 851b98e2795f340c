#include "vk/recorder.h"

#include "vk/buffer.h"
#include "vk/handles.h"
#include "vk/pipeline.h"

namespace lemnos::vk {
namespace {

constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReadsAndWrites =
    kWrites | VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

void record_barrier(uint64_t buffer, VkPipelineStageFlags to, VkAccessFlags to_access) {
  auto barrier = vk_struct<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = kWrites;
  barrier.dstAccessMask = to_access;
  vkCmdPipelineBarrier(handle_of<VkCommandBuffer>(buffer), kWork, to, 0, 1, &barrier, 0, nullptr, 0,
                       nullptr);
}

}  // namespace

CommandBuffer::CommandBuffer(Device& device) : device_(device), texels_(device) {
  const DeviceHandles& handles = device.handles();
  auto pool_info = vk_struct<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pool_info.queueFamilyIndex = handles.queue_family;
  VkCommandPool pool = VK_NULL_HANDLE;
  vk_check(vkCreateCommandPool(handles.device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
  pool_ = opaque(pool);
  auto info =
      vk_struct<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer buffer = VK_NULL_HANDLE;
  const VkResult result = vkAllocateCommandBuffers(handles.device, &info, &buffer);
  if (result < 0) vkDestroyCommandPool(handles.device, pool, nullptr);
  vk_check(result, "vkAllocateCommandBuffers");
  buffer_ = opaque(buffer);
  begin();
}

CommandBuffer::~CommandBuffer() {
  vkDestroyCommandPool(device_.handles().device, handle_of<VkCommandPool>(pool_), nullptr);
}

void CommandBuffer::begin() {
  auto info = vk_struct<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  vk_check(vkBeginCommandBuffer(handle_of<VkCommandBuffer>(buffer_), &info),
           "vkBeginCommandBuffer");
  bound_ = bound_set_ = 0;
  finished_ = false;
  barrier();
}

void CommandBuffer::restart() {
  vk_check(vkResetCommandPool(device_.handles().device, handle_of<VkCommandPool>(pool_), 0),
           "vkResetCommandPool");
  begin();
}

void CommandBuffer::dispatch(const Pipeline& pipeline, std::span<const std::byte> push,
                             std::array<uint32_t, 3> groups, std::span<const TexelRange> texels) {
  LEMNOS_CHECK(push.size() <= 128 && push.size() % 4 == 0, "{}: {} bytes of parameters",
               pipeline.name, push.size());
  for (const uint32_t count : groups)
    LEMNOS_CHECK(count > 0 && count <= kMaxGroups, "{}: {} workgroups", pipeline.name, count);
  const VkCommandBuffer buffer = handle_of<VkCommandBuffer>(buffer_);
  if (bound_ != pipeline.handle)
    vkCmdBindPipeline(buffer, VK_PIPELINE_BIND_POINT_COMPUTE,
                      handle_of<VkPipeline>(pipeline.handle));
  bound_ = pipeline.handle;
  if (const uint64_t set = texels.empty() ? bound_set_ : texels_.set_of(texels); set != bound_set_) {
    const auto handle = handle_of<VkDescriptorSet>(set);
    vkCmdBindDescriptorSets(buffer, VK_PIPELINE_BIND_POINT_COMPUTE, device_.handles().layout, 0, 1, &handle, 0, nullptr);
    bound_set_ = set;
  }
  if (!push.empty())
    vkCmdPushConstants(buffer, device_.handles().layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                       static_cast<uint32_t>(push.size()), push.data());
  vkCmdDispatch(buffer, groups[0], groups[1], groups[2]);
}

void CommandBuffer::barrier() { record_barrier(buffer_, kWork, kReadsAndWrites); }

void CommandBuffer::copy(const Buffer& from, uint64_t from_offset, const Buffer& to,
                         uint64_t to_offset, uint64_t bytes) {
  LEMNOS_CHECK(from_offset + bytes <= from.size() && to_offset + bytes <= to.size(),
               "a copy of {} bytes leaves a buffer", bytes);
  if (bytes == 0) return;
  const VkBufferCopy region{from_offset, to_offset, bytes};
  vkCmdCopyBuffer(handle_of<VkCommandBuffer>(buffer_), handle_of<VkBuffer>(from.handle()),
                  handle_of<VkBuffer>(to.handle()), 1, &region);
}

void CommandBuffer::fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word) {
  LEMNOS_CHECK(offset + bytes <= buffer.size() && offset % 4 == 0 && bytes % 4 == 0,
               "a fill of {} bytes at {} leaves a buffer of {}", bytes, offset, buffer.size());
  if (bytes == 0) return;
  vkCmdFillBuffer(handle_of<VkCommandBuffer>(buffer_), handle_of<VkBuffer>(buffer.handle()), offset,
                  bytes, word);
}

void CommandBuffer::finish() {
  LEMNOS_CHECK(!finished_, "a command buffer was finished twice");
  record_barrier(buffer_, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  vk_check(vkEndCommandBuffer(handle_of<VkCommandBuffer>(buffer_)), "vkEndCommandBuffer");
  finished_ = true;
}

}  // namespace lemnos::vk
