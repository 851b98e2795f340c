#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "vk/buffer.h"
#include "vk/recorder.h"

namespace lemnos::vk {

class Device;

/// Moves bytes between host memory and device buffers of any size through two fixed staging
/// buffers, which are allocated at the first use; a mapped buffer is copied directly.
class Transfer {
 public:
  static constexpr uint64_t kDefaultChunk = 8 << 20;
  /// `chunk` bytes are in flight per staging buffer. `always_stage`: also for mapped buffers.
  explicit Transfer(Device& device, uint64_t chunk = kDefaultChunk, bool always_stage = false);
  ~Transfer();

  /// Later submits see the bytes; `from` may be reused at once.
  void upload(std::span<const std::byte> from, const Buffer& to, uint64_t offset = 0);
  /// Waits for all submitted work first.
  void download(const Buffer& from, uint64_t offset, std::span<std::byte> to);

 private:
  struct Slot {
    Slot(Device& device, uint64_t chunk);
    Buffer staging;
    CommandBuffer commands;
    uint64_t submitted = 0;
  };
  struct Chunk {
    uint64_t offset;
    uint64_t bytes;
  };
  bool direct(const Buffer& buffer) const { return !always_stage_ && buffer.mapped() != nullptr; }
  Chunk chunk_at(uint64_t index, uint64_t total) const;
  /// The slot of chunk `index`, its last copy done and its commands open.
  Slot& claim(uint64_t index);
  void submit(Slot& slot);

  Device& device_;
  uint64_t chunk_;
  bool always_stage_;
  std::optional<Slot> slots_[2];
};

/// `span` of any plain values, as bytes.
template <typename T>
std::span<const std::byte> bytes_of(const T& values) {
  return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> writable_bytes_of(T& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace lemnos::vk
