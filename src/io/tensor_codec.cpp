#include "io/tensor_codec.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/half.h"

namespace lemnos {
namespace {

/// The bytes of a tensor may start at any address, so elements are read by copying.
template <typename Stored, typename Out, typename Convert>
void decode_elements(std::span<const std::byte> bytes, std::span<Out> out, Convert convert) {
  LEMNOS_CHECK(bytes.size() == out.size() * sizeof(Stored));
  const std::byte* source = bytes.data();
  for (Out& value : out) {
    Stored stored;
    std::memcpy(&stored, source, sizeof(Stored));
    value = static_cast<Out>(convert(stored));
    source += sizeof(Stored);
  }
}

template <typename Stored, typename Out>
void decode_as(std::span<const std::byte> bytes, std::span<Out> out) {
  decode_elements<Stored>(bytes, out, [](Stored stored) { return stored; });
}

/// False when `dtype` is not a floating type that we decode.
template <typename Out>
bool decode_floats(FileDType dtype, std::span<const std::byte> bytes, std::span<Out> out) {
  switch (dtype) {
    case FileDType::F64:
      decode_as<double>(bytes, out);
      return true;
    case FileDType::F32:
      decode_as<float>(bytes, out);
      return true;
    case FileDType::F16:
      decode_elements<uint16_t>(bytes, out, f16_to_f32);
      return true;
    case FileDType::BF16:
      decode_elements<uint16_t>(bytes, out, bf16_to_f32);
      return true;
    default:
      return false;
  }
}

[[noreturn]] void refuse_dtype(const TensorView& tensor, const char* wanted) {
  fail(ErrorKind::unsupported, "tensor \"{}\" is stored as {}; it can only be read as {}",
       tensor.name, dtype_name(tensor.dtype), wanted);
}

constexpr const char* kFloats = "F64, F32, F16 or BF16 (dequantise it first)";

template <typename Out>
std::vector<Out> decode_floats(const TensorView& tensor) {
  std::vector<Out> out(static_cast<size_t>(tensor.elements()));
  if (!decode_floats(tensor.dtype, tensor.bytes, std::span<Out>(out)))
    refuse_dtype(tensor, kFloats);
  return out;
}

template <typename Stored, typename Convert>
std::vector<std::byte> encode_elements(std::span<const float> values, Convert convert) {
  std::vector<std::byte> bytes(values.size() * sizeof(Stored));
  for (size_t i = 0; i < values.size(); ++i) {
    const Stored stored = convert(values[i]);
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

std::vector<std::byte> encode_floats(std::span<const float> values, FileDType to) {
  switch (to) {
    case FileDType::F64:
      return encode_elements<double>(values, [](float value) { return double{value}; });
    case FileDType::F32:
      return encode_elements<float>(values, [](float value) { return value; });
    case FileDType::F16:
      return encode_elements<uint16_t>(values, f32_to_f16);
    default:
      return encode_elements<uint16_t>(values, f32_to_bf16);
  }
}

double largest_finite(FileDType dtype) {
  switch (dtype) {
    case FileDType::F16:
      return 65504;
    case FileDType::BF16:
      return 0x1.fep127;
    default:
      return 0x1.fffffep127;
  }
}

/// `wide` are the values before, `narrow` the bytes after.
void refuse_overflow(std::span<const double> wide, std::span<const std::byte> narrow, FileDType to,
                     std::string_view tensor_name) {
  std::vector<double> after(wide.size());
  decode_floats(to, narrow, std::span<double>(after));
  for (size_t i = 0; i < wide.size(); ++i)
    if (std::isfinite(wide[i]) && !std::isfinite(after[i]))
      fail(ErrorKind::unsupported,
           "tensor \"{}\" holds {}, beyond the largest {} ({}); write it in another dtype",
           tensor_name, wide[i], dtype_name(to), largest_finite(to));
}

bool can_hold_all(FileDType from, FileDType to) {
  const auto exponent_bits = [](FileDType dtype) {
    return dtype == FileDType::F64 ? 11 : dtype == FileDType::F16 ? 5 : 8;
  };
  // F32 rounds up beyond the largest BF16, though both have 8 bits of exponent.
  return exponent_bits(from) <= exponent_bits(to) &&
         !(from == FileDType::F32 && to == FileDType::BF16);
}

}  // namespace

std::vector<float> decode_f32(const TensorView& tensor) { return decode_floats<float>(tensor); }

void decode_f32(const TensorView& tensor, std::span<float> out) {
  if (!decode_floats(tensor.dtype, tensor.bytes, out)) refuse_dtype(tensor, kFloats);
}

std::vector<double> decode_f64(const TensorView& tensor) { return decode_floats<double>(tensor); }

std::vector<int64_t> decode_i64(const TensorView& tensor) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  const std::span<int64_t> out(values);
  switch (tensor.dtype) {
    case FileDType::I64:
      decode_as<int64_t>(tensor.bytes, out);
      break;
    case FileDType::I32:
      decode_as<int32_t>(tensor.bytes, out);
      break;
    case FileDType::I16:
      decode_as<int16_t>(tensor.bytes, out);
      break;
    case FileDType::I8:
      decode_as<int8_t>(tensor.bytes, out);
      break;
    case FileDType::U8:
    case FileDType::BOOL:
      decode_as<uint8_t>(tensor.bytes, out);
      break;
    default:
      refuse_dtype(tensor, "I64, I32, I16, I8, U8 or BOOL");
  }
  return values;
}

std::vector<std::byte> convert_floats(std::span<const std::byte> bytes, FileDType from,
                                      FileDType to, std::string_view tensor_name) {
  LEMNOS_CHECK(is_decodable_float(from) && is_decodable_float(to));
  if (from == to) return {bytes.begin(), bytes.end()};
  const size_t count = bytes.size() / (dtype_bits(from) / 8);
  std::vector<float> values(count);
  decode_floats(from, bytes, std::span<float>(values));
  std::vector<std::byte> converted = encode_floats(values, to);
  if (!can_hold_all(from, to)) {
    std::vector<double> wide(count);
    decode_floats(from, bytes, std::span<double>(wide));
    refuse_overflow(wide, converted, to, tensor_name);
  }
  return converted;
}

}  // namespace lemnos
