#include "vk/profiler.h"

#include "vk/handles.h"
#include "vk/queue.h"
#include "vk/recorder.h"

namespace lemnos::vk {

Profiler::Profiler(Device& device, uint32_t capacity) : device_(device), capacity_(capacity) {
  auto info = vk_struct<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2 * capacity;
  VkQueryPool pool = VK_NULL_HANDLE;
  vk_check(vkCreateQueryPool(device.handles().device, &info, nullptr, &pool), "vkCreateQueryPool");
  pool_ = opaque(pool);
}

Profiler::~Profiler() {
  vkDestroyQueryPool(device_.handles().device, handle_of<VkQueryPool>(pool_), nullptr);
}

uint32_t Profiler::begin(CommandBuffer& commands, std::string_view name) {
  LEMNOS_CHECK(names_.size() < capacity_, "more than {} profiler scopes", capacity_);
  const auto scope = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  const auto buffer = handle_of<VkCommandBuffer>(commands.handle());
  vkCmdResetQueryPool(buffer, handle_of<VkQueryPool>(pool_), 2 * scope, 2);
  vkCmdWriteTimestamp(buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, handle_of<VkQueryPool>(pool_),
                      2 * scope);
  return scope;
}

void Profiler::end(CommandBuffer& commands, uint32_t scope) {
  vkCmdWriteTimestamp(handle_of<VkCommandBuffer>(commands.handle()),
                      VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, handle_of<VkQueryPool>(pool_),
                      2 * scope + 1);
}

std::vector<Profiler::Scope> Profiler::read() {
  device_.queue().wait_idle();
  const auto count = static_cast<uint32_t>(2 * names_.size());
  if (count == 0) return {};
  std::vector<uint64_t> ticks(count);
  vk_check(vkGetQueryPoolResults(device_.handles().device, handle_of<VkQueryPool>(pool_), 0, count,
                                 count * sizeof(uint64_t), ticks.data(), sizeof(uint64_t),
                                 VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
           "vkGetQueryPoolResults");
  const double to_ms = device_.info().timestamp_period_ns * 1e-6;
  std::vector<Scope> scopes;
  for (size_t i = 0; i < names_.size(); ++i)
    scopes.push_back({names_[i], static_cast<double>(ticks[2 * i] - ticks[0]) * to_ms,
                      static_cast<double>(ticks[2 * i + 1] - ticks[2 * i]) * to_ms});
  return scopes;
}

}  // namespace lemnos::vk
