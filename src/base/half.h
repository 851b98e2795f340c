#pragma once

#include <bit>
#include <cstdint>

namespace lemnos {

/// Exact: every binary16 value is a float.
float f16_to_f32(uint16_t bits);

/// Rounds to nearest, ties to even; beyond 65504 (after rounding) gives infinity; a NaN becomes the
/// quiet NaN of its sign.
uint16_t f32_to_f16(float value);

/// Exact: bfloat16 is the upper half of a float.
inline float bf16_to_f32(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even; a NaN becomes 0x7fc0, as in PyTorch.
inline uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace lemnos
