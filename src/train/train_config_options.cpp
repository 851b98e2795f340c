#include "train/train_config_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/format.h"
#include "base/nearest.h"

namespace lemnos::train {
namespace {

std::array<std::span<const Option>, 3> tables() {
  return {applied_options(), noted_options(), refused_options()};
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
  for (std::span<const Option> table : tables()) {
    std::vector<std::string_view> keys;
    for (const Option& option : table) keys.push_back(option.key);
    if (const std::string_view nearest = nearest_word(key, keys); !nearest.empty()) return nearest;
  }
  return {};
}

std::string flag_name(std::string_view key) {
  std::string name = "--" + std::string(key);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace lemnos::train
