#include "runtime/storage.h"

#include <algorithm>

#include "base/error.h"
#include "vk/device.h"

namespace lemnos {

Storage::Storage(vk::Device& device, StoragePlan plan, ArenaSizes arena)
    : device_(device), plan_(std::move(plan)), transfer_(device) {
  const auto allocate = [&](std::vector<vk::Buffer>& into, int64_t bytes, const char* purpose,
                            vk::MemoryKind kind = vk::MemoryKind::device) {
    into.emplace_back(device_, static_cast<uint64_t>(std::max<int64_t>(bytes, kPlaceAlignment)), kind, purpose);
  };
  for (const int64_t bytes : plan_.blocks) allocate(persistent_, bytes, "weights and optimizer state");
  for (const int64_t bytes : arena.blocks) allocate(arena_, bytes, "activations");
  allocate(input_, arena.input_bytes, "inputs");
  if (input_[0].mapped() == nullptr)
    allocate(input_staging_, arena.input_bytes, "inputs (staging)", vk::MemoryKind::host);
}

const Place& Storage::place(std::string_view name) const {
  const auto found = plan_.places.find(name);
  LEMNOS_CHECK(found != plan_.places.end(), "no parameter or state named {}", name);
  return found->second;
}

const vk::Buffer& Storage::buffer(const Place& place) const {
  switch (place.region) {
    case Region::persistent: return persistent_.at(place.block);
    case Region::arena: return arena_.at(place.block);
    case Region::input: return input_.at(place.block);
    case Region::none: break;
  }
  LEMNOS_CHECK(false, "a value without memory was used");
  return input_[0];
}

uint64_t Storage::address(const Place& place) const {
  return buffer(place).address() + static_cast<uint64_t>(place.offset);
}

std::byte* Storage::input_bytes() {
  return input_staging_.empty() ? input_[0].mapped() : input_staging_[0].mapped();
}

void Storage::write(const Place& place, std::span<const std::byte> bytes) {
  LEMNOS_CHECK(static_cast<int64_t>(bytes.size()) <= place.bytes);
  ++writes_;
  transfer_.upload(bytes, buffer(place), static_cast<uint64_t>(place.offset));
}

void Storage::write(std::string_view name, std::span<const std::byte> bytes) {
  LEMNOS_CHECK(static_cast<int64_t>(bytes.size()) == place(name).bytes, "{}: {} bytes written, {} planned",
               name, bytes.size(), place(name).bytes);
  write(place(name), bytes);
}

void Storage::write(std::string_view name, std::span<const std::byte> bytes, int64_t offset) {
  Place part = place(name);
  LEMNOS_CHECK(offset >= 0 && offset + static_cast<int64_t>(bytes.size()) <= part.bytes, "{}", name);
  part.offset += offset;
  part.bytes -= offset;
  write(part, bytes);
}

std::vector<std::byte> Storage::read(const Place& place) {
  std::vector<std::byte> bytes(static_cast<size_t>(place.bytes));
  transfer_.download(buffer(place), static_cast<uint64_t>(place.offset), bytes);
  return bytes;
}

std::vector<std::byte> Storage::read(std::string_view name) { return read(place(name)); }

void Storage::clear(std::string_view name) {
  write(name, std::vector<std::byte>(static_cast<size_t>(place(name).bytes)));
}

}  // namespace lemnos
