#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/safetensors.h"

namespace lemnos {

/// Values of a F64, F32, F16 or BF16 tensor as floats: exact, except that F64 is rounded to
/// nearest. Other dtypes are refused by name: Error{unsupported}.
std::vector<float> decode_f32(const TensorView& tensor);
/// As above into `out`, which has one place for each element.
void decode_f32(const TensorView& tensor, std::span<float> out);

/// Values of a F64, F32, F16 or BF16 tensor as doubles: exact.
std::vector<double> decode_f64(const TensorView& tensor);

/// Values of an I64, I32, I16, I8, U8 or BOOL tensor: exact. Others: Error{unsupported}.
std::vector<int64_t> decode_i64(const TensorView& tensor);

/// Converts the bytes of whole elements from one floating dtype to another, through float (through
/// nothing when they are equal). A finite value that the target cannot hold is refused, naming the
/// tensor, instead of turning into infinity.
std::vector<std::byte> convert_floats(std::span<const std::byte> bytes, FileDType from,
                                      FileDType to, std::string_view tensor_name);

}  // namespace lemnos
