#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lemnos {

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// One scalar value read from valid UTF-8, and the bytes it took.
struct Utf8Char {
  char32_t value;
  size_t size;
};

/// Reads the character at byte `at`; the text must be valid UTF-8 and `at` a character boundary.
Utf8Char utf8_at(std::string_view text, size_t at);
/// The character that ends just before byte `end` (> 0) of valid UTF-8.
Utf8Char utf8_before(std::string_view text, size_t end);
void append_utf8(std::string& out, char32_t value);

/// Length of the well-formed sequence at `at`, or 0. `bad_size` gets the length of the maximal
/// ill-formed subpart (at least 1) that one replacement character stands for.
size_t utf8_sequence_size(std::string_view text, size_t at, size_t& bad_size);
bool is_valid_utf8(std::string_view text);
/// Each maximal ill-formed subpart becomes one U+FFFD: Python's `bytes.decode("utf-8", "replace")`
/// and Rust's `String::from_utf8_lossy`. An encoded surrogate becomes three.
std::string to_valid_utf8(std::string_view bytes);

}  // namespace lemnos
