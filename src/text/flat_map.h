#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace lemnos {

/// Hash map from 64-bit keys to two 32-bit numbers, filled once: open addressing, half empty.
class FlatMap {
 public:
  struct Entry {
    uint64_t key = kEmpty;
    uint32_t first = 0;
    uint32_t second = 0;
  };

  explicit FlatMap(size_t expected = 0)
      : entries_(std::bit_ceil(expected * 2 + 2)), shift_(64 - std::countr_zero(entries_.size())) {}

  /// The last value set for a key stays. The key ~0 must not be used; the map must not outgrow
  /// what it was made for.
  void set(uint64_t key, uint32_t first, uint32_t second) {
    size_t at = slot(key);
    while (entries_[at].key != kEmpty && entries_[at].key != key) at = next(at);
    entries_[at] = {key, first, second};
  }

  const Entry* find(uint64_t key) const {
    for (size_t at = slot(key); entries_[at].key != kEmpty; at = next(at))
      if (entries_[at].key == key) return &entries_[at];
    return nullptr;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};
  size_t slot(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
  size_t next(size_t at) const { return (at + 1) & (entries_.size() - 1); }

  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace lemnos
