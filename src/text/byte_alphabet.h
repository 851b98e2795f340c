#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lemnos {

/// GPT-2's printable stand-in for each byte, as UTF-8.
std::string_view byte_stand_in(unsigned char byte);
/// The byte that a character stands for.
std::optional<unsigned char> byte_of_stand_in(char32_t c);

}  // namespace lemnos
