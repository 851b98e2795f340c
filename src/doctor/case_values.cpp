#include "doctor/case_values.h"

#include <cstring>
#include <set>

#include "base/error.h"
#include "base/half.h"
#include "base/philox.h"
#include "doctor/roles.h"

namespace lemnos::doctor {
namespace {

float as_stored(float value, Pool pool) {
  if (pool == Pool::f16) return f16_to_f32(f32_to_f16(value));
  if (pool == Pool::bf16) return bf16_to_f32(f32_to_bf16(value));
  return value;
}

std::vector<float> make_pool(Pool pool) {
  std::vector<float> values;
  values.reserve(kPoolSize + 3);
  for (uint32_t block = 0; values.size() < kPoolSize; ++block)
    for (const uint32_t word : philox4x32({block, 0, 0, 0}, {static_cast<uint32_t>(pool), 99})) {
      const float unit = static_cast<float>(word >> 8) * 0x1p-24f;  // 24 bits: exact in f32
      values.push_back(as_stored(pool == Pool::positive ? 0.25f + unit : 2 * unit - 1, pool));
    }
  values.resize(kPoolSize);
  return values;
}

template <Pool pool>
const std::vector<float>& made_once() {
  static const std::vector<float> values = make_pool(pool);
  return values;
}

const std::vector<float>& pool_of(Pool pool) {
  switch (pool) {
    case Pool::f32: return made_once<Pool::f32>();
    case Pool::positive: return made_once<Pool::positive>();
    case Pool::f16: return made_once<Pool::f16>();
    case Pool::bf16: return made_once<Pool::bf16>();
  }
  return made_once<Pool::f32>();
}

Pool pool_for(DType dtype, Role role) {
  if (dtype == DType::f16) return Pool::f16;
  if (dtype == DType::bf16) return Pool::bf16;
  return role == Role::positive ? Pool::positive : Pool::f32;
}

/// The indices of each dimension that an evaluation sees, and the sizes it has then.
struct Restriction {
  std::map<char, std::vector<int64_t>> chosen;  // axis -> indices
  Sizes sizes;
};

Restriction restriction_of(const KernelCase& c) {
  Restriction r{sampled_indices(c), c.sizes};
  for (const auto& [axis, indices] : r.chosen) r.sizes[axis] = static_cast<int64_t>(indices.size());
  // Rows behind an offset are taken from there, so the restricted node starts at its first row.
  for (const TensorAxes& tensor : c.axes->inputs)
    for (const Dim& dim : tensor.dims)
      if (dim.offset != 0 && r.chosen.contains(dim.axes[0])) r.sizes[dim.offset] = 0;
  return r;
}

/// Which indices of a dimension of this size are seen.
std::vector<int64_t> seen(const Dim& dim, int64_t size, const KernelCase& c, const Restriction& r) {
  const bool chosen = dim.axes.size() == 1 && dim.factor == 1 && dim.plus == 0 && r.chosen.contains(dim.axes[0]);
  std::vector<int64_t> indices;
  if (chosen) {
    const int64_t first = dim.offset != 0 ? c.sizes.at(dim.offset) : 0;
    for (const int64_t i : r.chosen.at(dim.axes[0])) indices.push_back(first + i);
  } else {
    for (int64_t i = 0; i < size; ++i) indices.push_back(i);
  }
  return indices;
}

/// Flat indices of the elements of a tensor that are seen, in row-major order.
std::vector<int64_t> seen_elements(const TensorAxes& tensor, const Shape& shape, const KernelCase& c, const Restriction& r) {
  std::vector<int64_t> flat{0};
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::vector<int64_t> indices = seen(tensor.dims[d], shape[d], c, r);
    std::vector<int64_t> next;
    next.reserve(flat.size() * indices.size());
    for (const int64_t outer : flat)
      for (const int64_t i : indices) next.push_back(outer * shape[d] + i);
    flat = std::move(next);
  }
  return flat;
}

/// One entry for each sampled row: the reference then evaluates these rows alone.
HostTensor tiles_of_rows(const KernelCase& c, const InputValues& tiles) {
  HostTensor table{{0, 4}, {}};
  for (const int64_t row : sampled_rows(c))
    for (int64_t entry = 0; entry < tiles.shape[0]; ++entry) {
      const double first = tiles.at(4 * entry), count = tiles.at(4 * entry + 1), at = static_cast<double>(row);
      if (at < first || at >= first + count) continue;
      table.data.insert(table.data.end(), {at, 1.0, tiles.at(4 * entry + 2), tiles.at(4 * entry + 3)});
      ++table.shape[0];
    }
  return table;
}

std::vector<HostTensor> reference_inputs(const KernelCase& c, const std::vector<InputValues>& inputs, const Restriction& r) {
  std::vector<HostTensor> tensors(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!c.inputs[i]) continue;
    const TensorAxes& tensor = c.axes->inputs[i];
    if (tensor.role == Role::tiles && c.sampled) {
      tensors[i] = tiles_of_rows(c, inputs[i]);
      continue;
    }
    tensors[i].shape = shape_of(tensor, r.sizes);
    const std::vector<int64_t> elements = seen_elements(tensor, inputs[i].shape, c, r);
    tensors[i].data.reserve(elements.size());
    for (const int64_t at : elements) tensors[i].data.push_back(inputs[i].at(at));
    LEMNOS_CHECK(static_cast<int64_t>(elements.size()) == element_count(tensors[i].shape), "{} input {}", c.op->name, i);
  }
  return tensors;
}

/// Attention's forward pass gives its sampled rows; its gradient is complete, see Role::attention_do.
bool only_sampled_rows(const KernelCase& c) { return c.axes->by_tiles && c.sampled && std::string_view(c.op->name) == "attention"; }

std::vector<int64_t> elements_of_rows(const std::vector<int64_t>& rows, int64_t width) {
  std::vector<int64_t> elements;
  for (const int64_t row : rows)
    for (int64_t i = 0; i < width; ++i) elements.push_back(row * width + i);
  return elements;
}

}  // namespace

double pool_value(Pool pool, int64_t i) { return static_cast<double>(pool_of(pool)[static_cast<size_t>(i)]); }

std::vector<std::byte> pool_bytes(Pool pool) {
  const std::vector<float>& values = pool_of(pool);
  const DType dtype = pool == Pool::f16 ? DType::f16 : pool == Pool::bf16 ? DType::bf16 : DType::f32;
  return encode({values.begin(), values.end()}, dtype);
}

double InputValues::at(int64_t i) const {
  return numbers.empty() ? pool_value(pool, (first + i) % kPoolSize) : numbers[static_cast<size_t>(i)];
}

std::vector<InputValues> values_of(const KernelCase& c) {
  std::vector<InputValues> inputs(c.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!c.inputs[i]) continue;
    InputValues& values = inputs[i];
    const TensorAxes& tensor = c.axes->inputs[i];
    values.shape = shape_of(tensor, c.sizes);
    values.dtype = c.inputs[i]->type.dtype;
    values.pool = pool_for(values.dtype, tensor.role);
    values.first = static_cast<int64_t>(i) * 90001 % kPoolSize;
    values.numbers = numbers_for(c, i, inputs);
  }
  return inputs;
}

std::vector<Expected> expected_of(const KernelCase& c, const std::vector<InputValues>& inputs) {
  const Restriction r = restriction_of(c);
  const std::vector<HostTensor> tensors = reference_inputs(c, inputs, r);
  std::vector<const HostTensor*> present;
  for (size_t i = 0; i < tensors.size(); ++i) present.push_back(c.inputs[i] ? &tensors[i] : nullptr);
  const SingleNode restricted = instantiate(c, r.sizes), single = instantiate(c);
  std::vector<HostTensor> outputs;
  for (const ValueId id : restricted.node().outputs) {
    const Shape& shape = restricted.graph.shape(id);
    outputs.push_back({shape, std::vector<double>(static_cast<size_t>(element_count(shape)), 0.0)});
  }
  c.op->reference({present, outputs, restricted.node().attrs});

  std::vector<Expected> expected;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!c.axes->outputs[i].compared) continue;
    const Shape& shape = single.graph.shape(single.node().outputs[i]);
    Expected one{.output = i, .values = std::move(outputs[i].data)};
    if (only_sampled_rows(c)) {
      one.at = elements_of_rows(sampled_rows(c), element_count(shape) / shape[0]);
      std::vector<double> rows;
      for (const int64_t at : one.at) rows.push_back(one.values[static_cast<size_t>(at)]);
      one.values = std::move(rows);
    } else if (!r.chosen.empty()) {
      one.at = seen_elements(c.axes->outputs[i], shape, c, r);
    }
    expected.push_back(std::move(one));
  }
  return expected;
}

std::vector<std::byte> encode(const std::vector<double>& numbers, DType dtype) {
  const auto size = static_cast<size_t>(byte_size(dtype));
  std::vector<std::byte> bytes(numbers.size() * size);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto value = static_cast<float>(numbers[i]);
    const auto put = [&](auto stored) { std::memcpy(bytes.data() + i * size, &stored, size); };
    switch (dtype) {
      case DType::f32: put(value); break;
      case DType::f16: put(f32_to_f16(value)); break;
      case DType::bf16: put(f32_to_bf16(value)); break;
      case DType::i32: put(static_cast<int32_t>(static_cast<int64_t>(numbers[i]))); break;
    }
  }
  return bytes;
}

double decode(std::span<const std::byte> bytes, DType dtype, int64_t index) {
  const auto get = [&](auto value) {
    std::memcpy(&value, bytes.data() + static_cast<size_t>(index) * sizeof value, sizeof value);
    return value;
  };
  switch (dtype) {
    case DType::f32: return static_cast<double>(get(float{}));
    case DType::f16: return static_cast<double>(f16_to_f32(get(uint16_t{})));
    case DType::bf16: return static_cast<double>(bf16_to_f32(get(uint16_t{})));
    case DType::i32: return static_cast<double>(get(int32_t{}));
  }
  return 0;
}

}  // namespace lemnos::doctor
