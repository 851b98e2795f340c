#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace lemnos {

/// Formats with a string already checked at compile time. The only function of fmt that the rest of
/// the program links against, so that fmt itself is compiled once (format.cpp).
std::string format_erased(fmt::string_view text, fmt::format_args args);

struct Format {
  template <typename... Args>
  std::string operator()(fmt::format_string<Args...> text, Args&&... args) const {
    return format_erased(text, fmt::make_format_args(args...));
  }
};

/// `format("{} of {}", 1, 2)`; the syntax is fmt's. An object, since the name of a function would also
/// find std::format through arguments of namespace std.
inline constexpr Format format;

/// A size in the unit that fits: "17 bytes", "3.50 KiB", "1.25 GiB".
std::string byte_text(uint64_t bytes);

}  // namespace lemnos
