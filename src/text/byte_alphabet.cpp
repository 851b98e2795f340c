#include "text/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace lemnos {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Bytes without a printable form take the code points from 256 on, in order.
struct Alphabet {
  std::array<std::string, 256> stand_ins;
  std::array<int, 512> bytes{};

  Alphabet() {
    bytes.fill(-1);
    char32_t next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char32_t c = stands_for_itself(byte) ? byte : next++;
      append_utf8(stand_ins[byte], c);
      bytes[c] = static_cast<int>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

}  // namespace

std::string_view byte_stand_in(unsigned char byte) { return alphabet().stand_ins[byte]; }

std::optional<unsigned char> byte_of_stand_in(char32_t c) {
  if (c >= alphabet().bytes.size() || alphabet().bytes[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(alphabet().bytes[c]);
}

}  // namespace lemnos
