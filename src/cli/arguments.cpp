#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "cli/command.h"

namespace lemnos::cli {

std::optional<std::string> Arguments::get(const std::string& name) const {
  const auto found = values.find(name);
  if (found == values.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

double Arguments::number(const std::string& name, double fallback, double low, double high) const {
  const auto text = get(name);
  if (!text) return fallback;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (text->empty() || *end != '\0' || !(value >= low && value <= high))
    fail(ErrorKind::usage, "{} is \"{}\", expected a number from {} to {}", name, *text, low, high);
  return value;
}

int64_t Arguments::integer(const std::string& name, int64_t fallback, int64_t low, int64_t high) const {
  const auto text = get(name);
  if (!text) return fallback;
  char* end = nullptr;
  errno = 0;
  const int64_t value = std::strtoll(text->c_str(), &end, 10);
  if (text->empty() || *end != '\0' || errno != 0 || value < low || value > high)
    fail(ErrorKind::usage, "{} is \"{}\", expected an integer from {} to {}", name, *text, low, high);
  return value;
}

}  // namespace lemnos::cli
