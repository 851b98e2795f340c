#pragma once

#include <string>
#include <string_view>

namespace lemnos {

/// Text for a terminal: well-formed UTF-8, newlines and tabs stay; other control characters and each
/// byte that is not UTF-8 become \xNN.
std::string printable(std::string_view text);

}  // namespace lemnos
