#include "data/random.h"

#include <limits>

#include "base/philox.h"

namespace lemnos::data {
namespace {

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint64_t join(uint32_t low_word, uint32_t high_word) {
  return uint64_t{low_word} | uint64_t{high_word} << 32;
}

}  // namespace

uint64_t RandomStream::next() {
  if (left_ == 0) {
    const auto words = philox4x32({low(block_), high(block_), low(stream_), high(stream_)},
                                  {low(seed_), high(seed_)});
    drawn_ = {join(words[0], words[1]), join(words[2], words[3])};
    left_ = drawn_.size();
    ++block_;
  }
  return drawn_[drawn_.size() - left_--];
}

uint64_t RandomStream::below(uint64_t bound) {
  const uint64_t whole = std::numeric_limits<uint64_t>::max() / bound * bound;
  uint64_t value = next();
  while (value >= whole) value = next();
  return value % bound;
}

}  // namespace lemnos::data
