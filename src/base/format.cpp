#define FMT_HEADER_ONLY 1
#include "base/format.h"

#include <fmt/format.h>

namespace lemnos {

std::string format_erased(fmt::string_view text, fmt::format_args args) {
  return fmt::vformat(text, args);
}

}  // namespace lemnos
