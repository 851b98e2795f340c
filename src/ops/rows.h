#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.h"
#include "graph/op.h"

// A tensor [..., width] seen as a matrix: every axis but the last is folded into the rows.
namespace lemnos {

inline int64_t width_of(const Shape& shape) { return shape.back(); }

inline int64_t rows_of(const Shape& shape) {
  return element_count(shape) / std::max<int64_t>(1, shape.back());
}

/// The element count as a kernel parameter; kernels index with 31 bits (SPIR-V indices are signed).
inline uint32_t kernel_count(int64_t elements) {
  LEMNOS_CHECK(elements < int64_t{1} << 31, "{} elements in one tensor", elements);
  return static_cast<uint32_t>(elements);
}
inline uint32_t kernel_count(const Shape& shape) { return kernel_count(element_count(shape)); }

/// "<stem>.cpu" or "<stem>.gpu"
inline std::string path_variant(const char* stem, const DeviceProfile& device) {
  return std::string(stem) + (device.cpu_path ? ".cpu" : ".gpu");
}

/// Specialization constant 1 of kernels that include ops/glsl/rows.glsl.
inline uint32_t width_by_4(int64_t width) { return width % 4 == 0 ? 1 : 0; }

/// lavapipe stops all loops of one invocation after 65,534 iterations, silently.
inline void check_iterations(int64_t iterations) {
  LEMNOS_CHECK(iterations < 65'000, "{} iterations in one invocation", iterations);
}

inline const ValueType* optional_input(const InferContext& c, size_t i) {
  return i < c.inputs.size() ? c.inputs[i] : nullptr;
}

}  // namespace lemnos
