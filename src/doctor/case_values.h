#pragma once

#include <cstdint>
#include <vector>

#include "doctor/kernel_case.h"

namespace lemnos::doctor {

/// Random numbers that every tensor of a type repeats from a place of its own: a prime count, so that
/// rows of a matrix do not coincide. Large tensors need no copy on the host.
inline constexpr int64_t kPoolSize = 1000003;

/// The pools that tensors are filled from, by storage type and sign.
enum class Pool : uint8_t { f32, positive, f16, bf16 };
inline constexpr size_t kPools = 4;
/// Element i, exact in the pool's type.
double pool_value(Pool pool, int64_t i);
/// The whole pool as the device stores it.
std::vector<std::byte> pool_bytes(Pool pool);

/// What an input holds: explicit numbers, or pool elements from `first` on.
struct InputValues {
  Shape shape;
  DType dtype = DType::f32;
  std::vector<double> numbers;  // empty: from the pool
  Pool pool = Pool::f32;
  int64_t first = 0;

  double at(int64_t i) const;
};

/// Of each input of the case; absent inputs are empty.
std::vector<InputValues> values_of(const KernelCase& kernel_case);

/// What the device must give: elements `at` (empty: all) of an output.
struct Expected {
  size_t output = 0;
  std::vector<int64_t> at;
  std::vector<double> values;
};

/// Evaluates the op's reference in double: on all elements, or for a sampled case on the inputs' rows and
/// columns that the sampled elements depend on.
std::vector<Expected> expected_of(const KernelCase& kernel_case, const std::vector<InputValues>& inputs);

/// The numbers as bytes of the storage type, and back.
std::vector<std::byte> encode(const std::vector<double>& numbers, DType dtype);
double decode(std::span<const std::byte> bytes, DType dtype, int64_t index);

}  // namespace lemnos::doctor
