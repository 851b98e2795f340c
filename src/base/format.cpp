#define FMT_HEADER_ONLY 1
#include "base/format.h"

#include <fmt/format.h>

namespace lemnos {

std::string format_erased(fmt::string_view text, fmt::format_args args) {
  return fmt::vformat(text, args);
}

std::string byte_text(uint64_t bytes) {
  if (bytes < 1024) return format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double size = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (size < 1024) break;
    size /= 1024;
    unit = larger;
  }
  return format("{:.2f} {}", size, unit);
}

}  // namespace lemnos
