#include "base/printable.h"

#include <algorithm>

#include "base/format.h"

namespace lemnos {
namespace {

unsigned byte_at(std::string_view text, size_t i) { return static_cast<unsigned char>(text[i]); }

/// Bytes of the well-formed character that `text` starts with; 0 when there is none.
size_t character_size(std::string_view text) {
  const unsigned lead = byte_at(text, 0);
  if (lead < 0x80) return 1;
  const size_t size = lead >= 0xc2 && lead < 0xe0 ? 2 : (lead & 0xf0) == 0xe0 ? 3 : lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  // The second byte keeps out overlong forms, surrogates and what lies beyond U+10FFFF.
  const unsigned second = byte_at(text, 1);
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  const std::string_view rest = text.substr(2, size - 2);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  return std::all_of(rest.begin(), rest.end(), continues) ? size : 0;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    if (size == 0 || is_control(text.front()))
      out += format("\\x{:02x}", byte_at(text, 0));
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

}  // namespace lemnos
