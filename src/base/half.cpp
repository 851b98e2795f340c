#include "base/half.h"

namespace lemnos {

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude < 0x0400u) {  // zero or subnormal: a multiple of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  // The exponent bias grows from 15 to 127; infinity and NaN keep an exponent of all ones.
  const uint32_t rebias = magnitude >= 0x7c00u ? (255u - 31u) << 23 : (127u - 15u) << 23;
  return std::bit_cast<float>(sign | ((magnitude << 13) + rebias));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  constexpr uint32_t kFirstInfinite = 0x477ff000u;  // 65520: the tie above 65504 goes up
  if (magnitude >= kFirstInfinite) return static_cast<uint16_t>(sign | 0x7c00u);
  constexpr uint32_t kSmallestNormal = 0x38800000u;  // 2^-14
  if (magnitude < kSmallestNormal) {
    // Adding 0.5, whose last bit is 2^-24, lets the addition itself round to a subnormal.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0x0fffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - ((127u - 15u) << 23)) >> 13));
}

}  // namespace lemnos
