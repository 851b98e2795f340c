#include "support/kernel_runner.h"

#include "base/error.h"
#include "runtime/record_call.h"
#include "support/device.h"
#include "vk/queue.h"
#include "vk/transfer.h"

namespace lemnos::test {

void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const KernelCall& call,
                 std::span<const uint64_t> addresses) {
  lemnos::record_call(commands, pipelines, bind(call, [&](const BufferRef& ref) {
    LEMNOS_CHECK(ref.value.index < addresses.size(), "{}: buffer {}", call.shader, ref.value.index);
    return addresses[ref.value.index] + static_cast<uint64_t>(ref.byte_offset);
  }));
}

ValueId KernelRunner::add_bytes(std::span<const std::byte> bytes) {
  buffers_.emplace_back(test_device(), bytes.size(), vk::MemoryKind::device, "a test");
  vk::Transfer(test_device()).upload(bytes, buffers_.back());
  return {static_cast<uint32_t>(buffers_.size() - 1)};
}

void KernelRunner::read_bytes(ValueId id, std::span<std::byte> bytes) {
  vk::Transfer(test_device()).download(buffers_.at(id.index), 0, bytes);
}

void KernelRunner::run(const std::vector<KernelCall>& calls) {
  std::vector<uint64_t> addresses;
  for (const vk::Buffer& buffer : buffers_) addresses.push_back(buffer.address());
  vk::CommandBuffer commands(test_device());
  for (const KernelCall& call : calls) {
    record_call(commands, test_pipelines(), call, addresses);
    commands.barrier();
  }
  commands.finish();
  test_device().queue().wait(test_device().queue().submit(commands));
}

}  // namespace lemnos::test
