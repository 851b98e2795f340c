#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lemnos::vk {

class Device;

enum class MemoryKind {
  device,  ///< fastest for kernels; also mapped where that costs nothing (CPU, some integrated
           ///< GPUs)
  host,    ///< always mapped and coherent: staging and per-step parameters
};

/// One allocation with a device address, freed with the object. Usable by kernels, copies and
/// fills.
class Buffer {
 public:
  /// Throws Error{out_of_memory} naming `purpose`, the bytes asked for and what the device has.
  Buffer(Device& device, uint64_t bytes, MemoryKind kind, std::string_view purpose);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  uint64_t size() const { return bytes_; }
  /// Device address of the first byte; a multiple of 16. 16-byte loads up to the last byte are
  /// legal.
  uint64_t address() const { return address_; }
  /// Host address of the first byte, or null. Only valid to touch when no submitted work uses it.
  std::byte* mapped() const { return mapped_; }
  uint64_t handle() const { return buffer_; }

 private:
  void create(uint64_t padded_bytes);
  void allocate(MemoryKind kind, std::string_view purpose);
  void map_if_visible(uint32_t memory_type);
  void release();

  Device* device_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t allocated_ = 0;
  uint64_t buffer_ = 0;
  uint64_t memory_ = 0;
  uint64_t address_ = 0;
  std::byte* mapped_ = nullptr;
};

}  // namespace lemnos::vk
