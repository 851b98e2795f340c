#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "graph/value.h"

namespace lemnos {

/// What `dispatch` may know of a device. A plain value, so that plans can be made without one.
struct DeviceProfile {
  std::string name;
  bool cpu_path = false;  // 8-lane kernels without shared memory (lavapipe), else the GPU kernels
  bool is_cpu = false;    // the device is a processor, whichever kernels it runs: compiling costs most
  uint32_t subgroup_size = 32;
  bool split_gemm = false;   // the device and the build have the split-precision GEMM
  uint32_t max_shared_bytes = 32 * 1024;
  int64_t max_allocation_bytes = int64_t{2} << 30;
  int64_t memory_bytes = 0;  // of the device's largest device-local heap
  bool watchdog = false;     // long submissions may be killed (integrated and desktop GPUs)
};

/// A place inside a value's storage.
struct BufferRef {
  ValueId value;
  int64_t byte_offset = 0;
};

/// A buffer that a kernel also reads as a uniform texel buffer: four floats, or two words, at once.
struct TexelInput {
  BufferRef from;  // a multiple of 16 bytes into the value
  int64_t bytes = 0;
  bool words = false;
};
inline constexpr int64_t kMostTexels = int64_t{1} << 27;  // of one, on lavapipe

/// What a call does is the same for each of `count` elements, whatever the others are: calls that differ in the range
/// alone may be one where their ranges follow on each other in memory.
struct FlatRange {
  uint32_t count_at = 0;            // byte of `push` where the count is, 32 bits
  uint32_t elements_per_group = 0;  // of flat_groups
  std::vector<uint32_t> bytes;      // per element of each buffer; 0: the same buffer for all elements
};

/// One dispatch, without any device object: pure data that tests can look at.
struct KernelCall {
  std::string shader;               // name in vk::shaders()
  std::vector<uint32_t> constants;  // specialization constants 0, 1, 2 ...
  std::vector<BufferRef> buffers;   // the address of buffers[k] goes to byte 8*k of `push`
  std::vector<std::byte> push;      // the parameter struct; its leading addresses are still zero
  std::array<uint32_t, 3> groups{1, 1, 1};
  /// True when the call does not depend on the node's call before it (no barrier between them).
  bool independent = false;
  FlatRange flat = {};  // no elements per group: not such a call
  std::vector<TexelInput> texels = {};  // at bindings 0, 1 ... of set 0
};

/// `Params` is the struct of <op>.params.h; `buffers` are its leading uvec2 members in order.
template <typename Params>
KernelCall kernel(std::string shader, const Params& params, std::vector<BufferRef> buffers,
                  std::array<uint32_t, 3> groups, std::vector<uint32_t> constants = {}) {
  static_assert(sizeof(Params) <= 128, "push constants hold 128 bytes");
  KernelCall call{std::move(shader), std::move(constants), std::move(buffers), {}, groups};
  call.push.resize(sizeof(Params));
  std::memcpy(call.push.data(), &params, sizeof(Params));
  return call;
}

/// Groups of a flat 1-D range (see flat_index() in common.glsl): a second axis above 65,535.
std::array<uint32_t, 3> flat_groups(int64_t elements, int64_t group_size);

}  // namespace lemnos
