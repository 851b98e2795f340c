#include "vk/transfer.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "vk/device.h"
#include "vk/queue.h"

namespace lemnos::vk {

Transfer::Slot::Slot(Device& device, uint64_t chunk)
    : staging(device, chunk, MemoryKind::host, "the transfer staging buffer"), commands(device) {}

Transfer::Transfer(Device& device, uint64_t chunk, bool always_stage)
    : device_(device), chunk_(chunk), always_stage_(always_stage) {}

Transfer::~Transfer() {
  for (const auto& slot : slots_)
    if (slot) device_.queue().wait_for(slot->submitted, UINT64_MAX);
}

Transfer::Chunk Transfer::chunk_at(uint64_t index, uint64_t total) const {
  const uint64_t offset = index * chunk_;
  return {offset, std::min(chunk_, total - offset)};
}

Transfer::Slot& Transfer::claim(uint64_t index) {
  std::optional<Slot>& slot = slots_[index % 2];
  if (!slot) {
    slot.emplace(device_, chunk_);
  } else {
    device_.queue().wait(slot->submitted);
    slot->commands.restart();
  }
  return *slot;
}

void Transfer::submit(Slot& slot) {
  slot.commands.finish();
  slot.submitted = device_.queue().submit(slot.commands);
}

void Transfer::upload(std::span<const std::byte> from, const Buffer& to, uint64_t offset) {
  LEMNOS_CHECK(offset + from.size() <= to.size(), "an upload of {} bytes at {} into {}",
               from.size(), offset, to.size());
  if (from.empty()) return;
  if (direct(to)) {
    device_.queue().wait_idle();
    std::memcpy(to.mapped() + offset, from.data(), from.size());
    return;
  }
  const uint64_t chunks = (from.size() + chunk_ - 1) / chunk_;
  for (uint64_t i = 0; i < chunks; ++i) {
    Slot& slot = claim(i);
    const Chunk chunk = chunk_at(i, from.size());
    std::memcpy(slot.staging.mapped(), from.data() + chunk.offset, chunk.bytes);
    slot.commands.copy(slot.staging, 0, to, offset + chunk.offset, chunk.bytes);
    submit(slot);
  }
}

void Transfer::download(const Buffer& from, uint64_t offset, std::span<std::byte> to) {
  LEMNOS_CHECK(offset + to.size() <= from.size(), "a download of {} bytes at {} of {}", to.size(),
               offset, from.size());
  if (to.empty()) return;
  if (direct(from)) {
    device_.queue().wait_idle();
    std::memcpy(to.data(), from.mapped() + offset, to.size());
    return;
  }
  const uint64_t chunks = (to.size() + chunk_ - 1) / chunk_;
  const auto collect = [&](uint64_t i) {
    const Slot& slot = *slots_[i % 2];
    device_.queue().wait(slot.submitted);
    const Chunk chunk = chunk_at(i, to.size());
    std::memcpy(to.data() + chunk.offset, slot.staging.mapped(), chunk.bytes);
  };
  for (uint64_t i = 0; i < chunks; ++i) {
    Slot& slot = claim(i);  // chunk i - 2 was collected in the round before
    const Chunk chunk = chunk_at(i, to.size());
    slot.commands.copy(from, offset + chunk.offset, slot.staging, 0, chunk.bytes);
    submit(slot);
    if (i > 0) collect(i - 1);
  }
  collect(chunks - 1);
}

}  // namespace lemnos::vk
