#include "vk/queue.h"

#include "vk/handles.h"
#include "vk/recorder.h"

namespace lemnos::vk {

Queue::Queue(Device& device) : device_(device) {}

Queue::~Queue() {
  vkDestroySemaphore(device_.handles().device, handle_of<VkSemaphore>(semaphore_), nullptr);
}

void Queue::create_semaphore() {
  auto type = vk_struct<VkSemaphoreTypeCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO);
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  auto info = vk_struct<VkSemaphoreCreateInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
  info.pNext = &type;
  VkSemaphore semaphore = VK_NULL_HANDLE;
  vk_check(vkCreateSemaphore(device_.handles().device, &info, nullptr, &semaphore),
           "vkCreateSemaphore");
  semaphore_ = opaque(semaphore);
}

uint64_t Queue::submit(std::span<const CommandBuffer* const> buffers) {
  std::vector<VkCommandBuffer> handles;
  for (const CommandBuffer* buffer : buffers) {
    LEMNOS_CHECK(buffer->finished(), "a command buffer was submitted while it is recorded");
    handles.push_back(handle_of<VkCommandBuffer>(buffer->handle()));
  }
  if (semaphore_ == 0) create_semaphore();
  const uint64_t number = last_ + 1;
  const VkSemaphore semaphore = handle_of<VkSemaphore>(semaphore_);
  auto timeline =
      vk_struct<VkTimelineSemaphoreSubmitInfo>(VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO);
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &number;
  auto info = vk_struct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.pNext = &timeline;
  info.commandBufferCount = static_cast<uint32_t>(handles.size());
  info.pCommandBuffers = handles.data();
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &semaphore;
  vk_check(vkQueueSubmit(device_.handles().vk_queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
  return last_ = number;
}

uint64_t Queue::submit(const CommandBuffer& buffer) {
  const CommandBuffer* const one[] = {&buffer};
  return submit(one);
}

bool Queue::wait_for(uint64_t number, uint64_t timeout_ns) {
  if (number == 0) return true;
  LEMNOS_CHECK(number <= last_, "submit {} of {} is waited for", number, last_);
  const VkSemaphore semaphore = handle_of<VkSemaphore>(semaphore_);
  auto info = vk_struct<VkSemaphoreWaitInfo>(VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO);
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &number;
  const VkResult result = vkWaitSemaphores(device_.handles().device, &info, timeout_ns);
  vk_check(result, "vkWaitSemaphores");
  return result == VK_SUCCESS;
}

void Queue::wait(uint64_t number) {
  while (!wait_for(number, UINT64_MAX)) continue;
}

uint64_t Queue::last_completed() {
  if (semaphore_ == 0) return 0;
  uint64_t value = 0;
  vk_check(vkGetSemaphoreCounterValue(device_.handles().device, handle_of<VkSemaphore>(semaphore_),
                                      &value),
           "vkGetSemaphoreCounterValue");
  return value;
}

}  // namespace lemnos::vk
