#pragma once

#include <span>
#include <vector>

#include "graph/kernel_call.h"
#include "runtime/record_call.h"
#include "vk/buffer.h"
#include "vk/device.h"
#include "vk/pipeline.h"
#include "vk/queue.h"
#include "vk/recorder.h"
#include "vk/transfer.h"

namespace lemnos {

/// Buffers that kernel calls name by index, without a graph.
class DeviceBuffers {
 public:
  DeviceBuffers(vk::Device& device, vk::PipelineCache& pipelines) : device_(device), pipelines_(pipelines) {}

  BufferRef add(int64_t bytes) {
    buffers_.emplace_back(device_, static_cast<uint64_t>(bytes), vk::MemoryKind::device, "a matrix");
    return {{static_cast<uint32_t>(buffers_.size() - 1)}};
  }
  BufferRef add(std::span<const std::byte> content) {
    const BufferRef ref = add(static_cast<int64_t>(content.size()));
    vk::Transfer(device_).upload(content, buffers_.back());
    return ref;
  }
  vk::Buffer& operator[](BufferRef ref) { return buffers_[ref.value.index]; }

  /// The calls one after the other.
  void record(vk::CommandBuffer& commands, const std::vector<KernelCall>& calls) {
    for (const KernelCall& call : calls) {
      record_call(commands, pipelines_, bind(call, [this](const BufferRef& ref) {
        return (*this)[ref].address() + static_cast<uint64_t>(ref.byte_offset);
      }));
      commands.barrier();
    }
  }
  void run(const vk::CommandBuffer& commands) { device_.queue().wait(device_.queue().submit(commands)); }
  void run(const std::vector<KernelCall>& calls) {
    vk::CommandBuffer commands(device_);
    record(commands, calls);
    commands.finish();
    run(commands);
  }
  /// The first `count` floats.
  std::vector<float> read(BufferRef ref, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    vk::Transfer(device_).download((*this)[ref], 0, vk::writable_bytes_of(values));
    return values;
  }

 private:
  vk::Device& device_;
  vk::PipelineCache& pipelines_;
  std::vector<vk::Buffer> buffers_;
};

}  // namespace lemnos
