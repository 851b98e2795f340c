#pragma once

#include <string>
#include <string_view>

#include "base/format.h"

namespace lemnos {

/// "1 row", "2 rows"; `noun` is one whose plural is in -s.
inline std::string counted(int64_t count, std::string_view noun) {
  return format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace lemnos
