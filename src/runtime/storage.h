#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "graph/memory_plan.h"
#include "vk/buffer.h"
#include "vk/transfer.h"

namespace lemnos {

/// All device memory of a run, allocated once and to the byte as planned: parameters and states by
/// name, the arena and the input block that every program shares.
class Storage {
 public:
  Storage(vk::Device& device, StoragePlan plan, ArenaSizes arena);

  vk::Device& device() const { return device_; }
  const StoragePlan& plan() const { return plan_; }
  /// How often parameters or states were written from the host.
  uint64_t writes() const { return writes_; }

  /// Whole parameters or states; the size must match. Reading waits for the device.
  void write(std::string_view name, std::span<const std::byte> bytes);
  /// Part of one, at a byte offset (weights that arrive slice by slice).
  void write(std::string_view name, std::span<const std::byte> bytes, int64_t offset);
  std::vector<std::byte> read(std::string_view name);
  void clear(std::string_view name);

  const Place& place(std::string_view name) const;
  const vk::Buffer& buffer(const Place& place) const;
  uint64_t address(const Place& place) const;
  /// Host memory that the input block is filled from: the block itself when it is mapped.
  std::byte* input_bytes();
  /// Null when the input block is mapped and needs no copy.
  const vk::Buffer* input_staging() const { return input_staging_.empty() ? nullptr : &input_staging_[0]; }
  const vk::Buffer& input_block() const { return input_[0]; }

  std::vector<std::byte> read(const Place& place);
  void write(const Place& place, std::span<const std::byte> bytes);

 private:
  vk::Device& device_;
  StoragePlan plan_;
  vk::Transfer transfer_;
  uint64_t writes_ = 0;
  std::vector<vk::Buffer> persistent_, arena_, input_, input_staging_;
};

}  // namespace lemnos
