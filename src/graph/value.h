#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lemnos {

/// Storage types. Everything computed is f32; f16 and bf16 only hold frozen weights, i32 indices.
enum class DType : uint8_t { f32, f16, bf16, i32 };

int64_t byte_size(DType dtype);
const char* name_of(DType dtype);

using Shape = std::vector<int64_t>;

int64_t element_count(const Shape& shape);
/// "[2, 3]"
std::string to_string(const Shape& shape);

/// Names a value of one graph; an index, never a pointer.
struct ValueId {
  uint32_t index = kNone;
  static constexpr uint32_t kNone = 0xffffffffu;
  bool valid() const { return index != kNone; }
  auto operator<=>(const ValueId&) const = default;
};

struct ValueType {
  Shape shape;
  DType dtype = DType::f32;
  bool operator==(const ValueType&) const = default;
};

/// Where a value lives:
/// - input: written by the host before each run of the `micro` section;
/// - parameter: a weight, named as in Hugging Face's state dict, kept for the whole run;
/// - state: kept like a parameter but ours (gradients, moments, loss sums, KV caches);
/// - activation: made by a node, in the arena, gone after its last use.
enum class ValueKind : uint8_t { input, parameter, state, activation };

struct Value {
  std::string name;  // unique among inputs, parameters and states; may be empty for activations
  ValueType type;
  ValueKind kind = ValueKind::activation;
  bool trainable = false;  // parameters only
};

}  // namespace lemnos
