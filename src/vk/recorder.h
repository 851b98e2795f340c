#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "vk/texels.h"

namespace lemnos::vk {

class Buffer;
class Device;
struct Pipeline;

/// Largest count of workgroups per axis that every device takes.
constexpr uint32_t kMaxGroups = 65535;

/// Commands recorded once and submitted as often as wanted, also again before the last is done.
///
/// It starts with a barrier, so it sees what earlier submits wrote, and ends with one towards the
/// host. In between only `barrier()` orders the commands.
class CommandBuffer {
 public:
  /// Open for recording at once.
  explicit CommandBuffer(Device& device);
  ~CommandBuffer();
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  /// `push` is the kernel's parameter struct, its addresses filled in; at most 128 bytes.
  void dispatch(const Pipeline& pipeline, std::span<const std::byte> push,
                std::array<uint32_t, 3> groups, std::span<const TexelRange> texels = {});
  /// All that was recorded before is done and visible to all that follows.
  void barrier();
  void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
            uint64_t bytes);
  /// Repeats `word`; offset and bytes are multiples of 4.
  void fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word);

  /// Ends the recording; from here it can be submitted.
  void finish();
  bool finished() const { return finished_; }
  /// Forgets everything and records anew; no submit of it may be in flight.
  void restart();

  uint64_t handle() const { return buffer_; }
  Device& device() const { return device_; }

 private:
  void begin();

  Device& device_;
  uint64_t pool_ = 0;
  uint64_t buffer_ = 0;
  uint64_t bound_ = 0;
  uint64_t bound_set_ = 0;
  bool finished_ = false;
  TexelSets texels_;
};

}  // namespace lemnos::vk
