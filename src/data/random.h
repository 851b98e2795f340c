#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lemnos::data {

/// A stream of random numbers that is the same on every platform: Philox4x32-10 with key = seed,
/// counter = (block, stream), two 64-bit numbers to a block, low word first.
class RandomStream {
 public:
  RandomStream(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}
  uint64_t next();
  /// Uniform in [0, bound), without bias: numbers above the last whole multiple are drawn again.
  uint64_t below(uint64_t bound);

 private:
  uint64_t seed_;
  uint64_t stream_;
  uint64_t block_ = 0;
  std::array<uint64_t, 2> drawn_{};
  size_t left_ = 0;
};

/// Fisher-Yates from the last element down.
template <typename T>
void shuffle(std::vector<T>& items, RandomStream& random) {
  for (size_t i = items.size(); i > 1; --i)
    std::swap(items[i - 1], items[static_cast<size_t>(random.below(i))]);
}

}  // namespace lemnos::data
