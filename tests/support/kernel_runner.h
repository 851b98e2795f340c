#pragma once

#include <span>
#include <vector>

#include "graph/kernel_call.h"
#include "vk/buffer.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace lemnos::test {

/// Records one kernel call; `addresses[i]` is the device address of value i.
void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const KernelCall& call,
                 std::span<const uint64_t> addresses);

/// Device buffers made of host data, numbered as values 0, 1, 2 ..., for tests of kernel calls.
class KernelRunner {
 public:
  /// `values` of any trivially copyable type; returns the value's id.
  template <typename T>
  ValueId add(const std::vector<T>& values) {
    return add_bytes(std::as_bytes(std::span(values)));
  }
  /// Runs the calls in order on `test_device()`, each after the one before.
  void run(const std::vector<KernelCall>& calls);
  template <typename T>
  std::vector<T> read(ValueId id, size_t count) {
    std::vector<T> values(count);
    read_bytes(id, std::as_writable_bytes(std::span(values)));
    return values;
  }

 private:
  ValueId add_bytes(std::span<const std::byte> bytes);
  void read_bytes(ValueId id, std::span<std::byte> bytes);
  std::vector<vk::Buffer> buffers_;
};

}  // namespace lemnos::test
