#include "train/train_config_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"

namespace lemnos::train {
namespace {

std::array<std::span<const Option>, 3> tables() {
  return {applied_options(), noted_options(), refused_options()};
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
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

bool Range::contains(double value) const {
  const bool high_enough = low_excluded ? value > low : value >= low;
  const bool low_enough = high_excluded ? value < high : value <= high;
  return high_enough && low_enough;
}

std::string Range::text() const {
  const double infinity = std::numeric_limits<double>::infinity();
  std::string text;
  if (low > -infinity) text = format("{} {}", low_excluded ? "above" : "at least", low);
  if (high == infinity) return text;
  const std::string bound = format("{} {}", high_excluded ? "below" : "at most", high);
  return text.empty() ? bound : text + " and " + bound;
}

const Option* find_option(std::string_view key) {
  for (std::span<const Option> table : tables())
    for (const Option& option : table)
      if (option.key == key) return &option;
  return nullptr;
}

std::string_view nearest_key(std::string_view key) {
  constexpr size_t kShortestToGuess = 3;
  const size_t farthest = std::min<size_t>(3, std::max<size_t>(1, key.size() / 3));
  for (std::span<const Option> table : tables()) {
    size_t best = farthest + 1;
    std::string_view nearest;
    for (const Option& option : table) {
      if (option.key.size() < kShortestToGuess) continue;
      const size_t distance = edit_distance(key, option.key);
      if (distance >= best) continue;
      best = distance;
      nearest = option.key;
    }
    if (!nearest.empty()) return nearest;
  }
  return {};
}

std::string flag_name(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace lemnos::train
