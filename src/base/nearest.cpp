#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace lemnos {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kShortestToGuess = 3;
  const auto farthest = [&](std::string_view candidate) -> size_t {
    const bool longer = candidate.starts_with(word) || word.starts_with(candidate);
    return std::clamp<size_t>(word.size() / (longer ? 3 : 4), 1, 3);
  };
  size_t best = word.size() + 1;
  std::string_view nearest;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() < kShortestToGuess) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance >= best || distance > farthest(candidate)) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace lemnos
