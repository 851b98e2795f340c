#include "graph/value.h"

#include "base/error.h"

namespace lemnos {

int64_t byte_size(DType dtype) { return dtype == DType::f32 || dtype == DType::i32 ? 4 : 2; }

const char* name_of(DType dtype) {
  static const char* const names[] = {"f32", "f16", "bf16", "i32"};
  return names[static_cast<size_t>(dtype)];
}

int64_t element_count(const Shape& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    LEMNOS_CHECK(extent >= 0);
    if (__builtin_mul_overflow(count, extent, &count))
      fail(ErrorKind::unsupported, "a tensor of shape {} is too large to be counted", to_string(shape));
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace lemnos
