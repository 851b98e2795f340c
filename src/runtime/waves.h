#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lemnos {

/// Bytes of device memory, the end not included.
struct Span {
  uint64_t first = 0, end = 0;
};

/// A piece of work by what it reads and writes.
struct Accesses {
  std::vector<Span> reads, writes;
};

/// The works as runs without order among themselves, one run after the other: none reads or overwrites what another
/// of its run or one that comes later writes, nor overwrites what such a one reads. A work may overtake those before it
/// that it has nothing to do with, up to `window` of them; with 1 every work is a run of its own, in order.
std::vector<std::vector<size_t>> waves_of(std::span<const Accesses> works, size_t window);

}  // namespace lemnos
