#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace lemnos::doctor {

/// An element may be off by ulps * 2^-24 * max(|expected|, share * largest, least), where `largest` is
/// the largest magnitude of the compared elements. 2^-24 is what one rounding costs a number of
/// magnitude 1.
struct Tolerance {
  double ulps;
  double share;
  double least = 0;
};

/// The tolerances of all ops, and why, are in tolerance.cpp.
Tolerance tolerance_of(std::string_view op, size_t output);

double allowed_error(const Tolerance& tolerance, double expected, double largest);

}  // namespace lemnos::doctor
