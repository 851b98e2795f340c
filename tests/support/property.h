#pragma once

#include <cstdlib>
#include <random>

namespace lemnos::test {

/// How many random cases a property is tried on: $LEMNOS_PROPERTY_CASES, else `few`. Case k draws from
/// std::mt19937_64(k), so a failure that names its case is repeated by that number alone.
inline uint64_t property_cases(uint64_t few) {
  const char* wanted = std::getenv("LEMNOS_PROPERTY_CASES");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : few;
}

/// One of `choices`.
template <typename Choices>
const auto& pick(const Choices& choices, std::mt19937_64& random) {
  return choices[static_cast<size_t>(random() % std::size(choices))];
}

}  // namespace lemnos::test
