#include "base/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace lemnos {
namespace {

bool is_f16_nan(uint16_t bits) { return (bits & 0x7fff) > 0x7c00; }

TEST(Half, WidensEveryF16Exactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = (half >> 10) & 31, fraction = half & 1023;
    const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                             : exponent == 31 ? std::numeric_limits<double>::infinity()
                                              : std::ldexp(1024 + fraction, exponent - 25);
    const float value = f16_to_f32(half);
    if (is_f16_nan(half)) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      ASSERT_EQ(std::abs(double{value}), magnitude) << bits;
      ASSERT_EQ(std::signbit(value), half >= 0x8000) << bits;
    }
  }
}

TEST(Half, NarrowingReturnsWhatWasWidened) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto stored = static_cast<uint16_t>(bits);
    if (!is_f16_nan(stored)) {
      ASSERT_EQ(f32_to_f16(f16_to_f32(stored)), stored);
    }
    if (!std::isnan(bf16_to_f32(stored))) {
      ASSERT_EQ(f32_to_bf16(bf16_to_f32(stored)), stored);
    }
  }
}

/// Between neighbours: the tie goes to the even one, anything beside it to the nearer one.
template <typename Widen, typename Narrow>
void check_ties(uint16_t last_finite, Widen widen, Narrow narrow) {
  for (uint16_t low = 0; low < last_finite; ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    const auto tie = static_cast<float>((double{widen(low)} + double{widen(high)}) / 2);
    ASSERT_EQ(narrow(tie), low % 2 == 0 ? low : high) << low;
    ASSERT_EQ(narrow(-tie), (low % 2 == 0 ? low : high) | 0x8000) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, 0.0f)), low) << low;
    ASSERT_EQ(narrow(std::nextafter(tie, INFINITY)), high) << low;
  }
}

TEST(Half, RoundsToNearestEven) {
  check_ties(0x7bff, f16_to_f32, f32_to_f16);
  check_ties(0x7f7f, bf16_to_f32, f32_to_bf16);
}

TEST(Half, BeyondTheLargestIsInfinity) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(-INFINITY), 0xff80);
}

TEST(Half, NanStaysNan) {
  const auto payload_in_low_bits = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(is_f16_nan(f32_to_f16(payload_in_low_bits)));
  EXPECT_EQ(f32_to_bf16(payload_in_low_bits), 0x7fc0);
}

}  // namespace
}  // namespace lemnos
