#include "text/utf8.h"

namespace lemnos {
namespace {

uint8_t byte_at(std::string_view text, size_t at) { return static_cast<uint8_t>(text[at]); }

/// The second byte's range depends on the first (Unicode, table 3-7).
struct LeadByte {
  size_t size;
  uint8_t second_low;
  uint8_t second_high;
};

LeadByte lead_byte(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Char utf8_at(std::string_view text, size_t at) {
  const uint32_t lead = byte_at(text, at);
  const auto tail = [&](size_t i) { return byte_at(text, at + i) & 0x3Fu; };
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | tail(1), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | tail(1) << 6 | tail(2), 3};
  return {(lead & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

Utf8Char utf8_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (byte_at(text, at) & 0xC0) == 0x80) --at;
  return utf8_at(text, at);
}

void append_utf8(std::string& out, char32_t value) {
  const auto put = [&](uint32_t byte) { out += static_cast<char>(static_cast<uint8_t>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

size_t utf8_sequence_size(std::string_view text, size_t at, size_t& bad_size) {
  const LeadByte lead = lead_byte(byte_at(text, at));
  bad_size = 1;
  if (lead.size <= 1) return lead.size;
  for (size_t i = 1; i < lead.size; ++i) {
    const uint8_t low = i == 1 ? lead.second_low : 0x80;
    const uint8_t high = i == 1 ? lead.second_high : 0xBF;
    if (at + i >= text.size() || byte_at(text, at + i) < low || byte_at(text, at + i) > high) {
      bad_size = i;
      return 0;
    }
  }
  return lead.size;
}

bool is_valid_utf8(std::string_view text) {
  size_t bad = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t size = utf8_sequence_size(text, at, bad);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  for (size_t at = 0; at < bytes.size();) {
    size_t bad = 0;
    const size_t size = utf8_sequence_size(bytes, at, bad);
    out += size == 0 ? kReplacementCharacter : bytes.substr(at, size);
    at += size == 0 ? bad : size;
  }
  return out;
}

}  // namespace lemnos
