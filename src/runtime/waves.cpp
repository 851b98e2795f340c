#include "runtime/waves.h"

#include <algorithm>

namespace lemnos {
namespace {

bool meet(const std::vector<Span>& some, const std::vector<Span>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Span& a) {
    return std::any_of(others.begin(), others.end(), [&](const Span& b) { return a.first < b.end && b.first < a.end; });
  });
}

/// What a work must not touch: that of the works before it which wait, and of those in its own run.
struct Taken {
  std::vector<Span> reads, writes;
  bool by(const Accesses& work) const {
    return meet(work.reads, writes) || meet(work.writes, writes) || meet(work.writes, reads);
  }
  void add(const Accesses& work) {
    reads.insert(reads.end(), work.reads.begin(), work.reads.end());
    writes.insert(writes.end(), work.writes.begin(), work.writes.end());
  }
};

}  // namespace

std::vector<std::vector<size_t>> waves_of(std::span<const Accesses> works, size_t window) {
  std::vector<std::vector<size_t>> waves;
  std::vector<bool> done(works.size(), false);
  for (size_t oldest = 0; oldest < works.size();) {
    std::vector<size_t>& wave = waves.emplace_back();
    Taken taken;
    for (size_t i = oldest; i < std::min(works.size(), oldest + window); ++i) {
      if (done[i]) continue;
      if (!taken.by(works[i])) wave.push_back(i);
      taken.add(works[i]);
    }
    for (const size_t i : wave) done[i] = true;
    while (oldest < works.size() && done[oldest]) ++oldest;
  }
  return waves;
}

}  // namespace lemnos
