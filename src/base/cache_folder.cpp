#include "base/cache_folder.h"

#include <cstdlib>

namespace lemnos {

std::filesystem::path cache_folder() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    return std::filesystem::path(xdg) / "lemnos";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "lemnos";
  return {};
}

}  // namespace lemnos
