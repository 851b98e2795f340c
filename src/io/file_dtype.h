#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lemnos {

/// The element types of the safetensors format, in the order of the reference library, which writes
/// the tensors of a file from the last type to the first.
enum class FileDType : uint8_t {
  BOOL,
  F4,
  F6_E2M3,
  F6_E3M2,
  U8,
  I8,
  F8_E5M2,
  F8_E4M3,
  F8_E8M0,
  F8_E4M3FNUZ,
  F8_E5M2FNUZ,
  I16,
  U16,
  F16,
  BF16,
  I32,
  U32,
  F32,
  C64,
  F64,
  I64,
  U64
};

/// As written in a file's header: "BF16".
std::string_view dtype_name(FileDType dtype);
std::optional<FileDType> dtype_from_name(std::string_view name);

/// 4 and 6 for the types packed below a byte.
unsigned dtype_bits(FileDType dtype);

/// F64, F32, F16 or BF16: what weights are decoded from and written as.
bool is_decodable_float(FileDType dtype);
/// I64, I32, I16, I8, U8 or BOOL.
bool is_decodable_integer(FileDType dtype);

}  // namespace lemnos
