#include "train/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>

#include "base/error.h"
#include "base/half.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "graph/op.h"
#include "io/tensor_codec.h"
#include "models/model_builder.h"
#include "peft/lora.h"

namespace lemnos {
namespace {

FileDType file_dtype(DType dtype) {
  if (dtype == DType::f16) return FileDType::F16;
  return dtype == DType::bf16 ? FileDType::BF16 : FileDType::F32;
}

/// Buffers that old checkpoints hold and Transformers ignores.
bool is_known_buffer(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq") || name.ends_with(".attn.masked_bias");
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 10;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += "\n  " + names[i];
  if (names.size() > kMost) text += format("\n  and {} more", names.size() - kMost);
  return text;
}

/// Collects what is wrong with the names and throws it all at once.
class NameCheck {
 public:
  explicit NameCheck(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// Null when missing. A wrong shape is an error at once.
  const TensorView* want(const std::string& name, const Shape& shape) {
    used_.insert(name);
    if (!checkpoint_.contains(name)) {
      missing_.push_back(name);
      return nullptr;
    }
    const TensorView& view = checkpoint_.view(name);
    if (view.shape != shape)
      fail(ErrorKind::corrupt_input, "{}: {} has shape {}, the config asks for {}", checkpoint_.folder().string(), name,
           shape_text(view.shape), to_string(shape));
    return &view;
  }

  template <typename Ignorable>
  void finish(Ignorable ignorable) const {
    std::vector<std::string> left;
    for (const std::string_view name : checkpoint_.names())
      if (!used_.contains(std::string(name)) && !ignorable(name)) left.emplace_back(name);
    if (missing_.empty() && left.empty()) return;
    std::string text = checkpoint_.folder().string() + ": the tensors do not match the model.";
    if (!missing_.empty()) text += format(" Missing ({}):{}", missing_.size(), list_of(missing_));
    if (!left.empty()) text += format(" Left over ({}):{}", left.size(), list_of(left));
    fail(ErrorKind::corrupt_input, "{}", text);
  }

 private:
  const Checkpoint& checkpoint_;
  std::set<std::string> used_;
  std::vector<std::string> missing_;
};

void check_tied_head(const ModelConfig& config, const Checkpoint& checkpoint) {
  if (!config.tie_word_embeddings || !checkpoint.contains("lm_head.weight")) return;
  const TensorView &head = checkpoint.view("lm_head.weight"), &embedding = checkpoint.view("model.embed_tokens.weight");
  if (head.dtype == embedding.dtype && std::ranges::equal(head.bytes, embedding.bytes)) return;
  fail(ErrorKind::corrupt_input, "{}: tie_word_embeddings is true, but lm_head.weight differs from model.embed_tokens.weight; "
       "set tie_word_embeddings to false to use both, or remove lm_head.weight", checkpoint.folder().string());
}

std::vector<const Value*> base_parameters(const Graph& graph) {
  std::vector<const Value*> found;
  for (const ValueId id : graph.of_kind(ValueKind::parameter))
    if (!is_adapter_parameter(graph[id].name)) found.push_back(&graph[id]);
  return found;
}

void upload(Storage& storage, const Value& value, const TensorView& view, int64_t first_element) {
  const std::vector<std::byte> converted =
      convert_floats(view.bytes, view.dtype, file_dtype(value.type.dtype), view.name);
  storage.write(value.name, converted, first_element * byte_size(value.type.dtype));
}

uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

/// Standard normal numbers by Box-Muller from Philox words keyed by seed and name.
std::vector<float> normal_numbers(size_t count, double deviation, const std::string& name, uint64_t seed) {
  std::vector<float> values(count);
  const uint64_t key = hash_of(name);
  const auto make_pair = [&](size_t i) {
    const auto words = philox4x32({static_cast<uint32_t>(i / 2), static_cast<uint32_t>((i / 2) >> 32),
                                   static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
                                  {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const double u = (static_cast<double>(words[0]) + 1.0) / 4294967297.0;
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(words[1]) / 4294967296.0;
    const double radius = deviation * std::sqrt(-2.0 * std::log(u));
    values[i] = static_cast<float>(radius * std::cos(angle));
    if (i + 1 < count) values[i + 1] = static_cast<float>(radius * std::sin(angle));
  };
  constexpr size_t kBlock = 1 << 16;  // even
  const std::exception_ptr error = run_parallel((count + kBlock - 1) / kBlock, [&](size_t block) {
    for (size_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); i += 2) make_pair(i);
  });
  if (error) std::rethrow_exception(error);
  return values;
}

/// As the device stores them.
std::vector<uint16_t> as_halves(const std::vector<float>& numbers, DType dtype) {
  std::vector<uint16_t> halves(numbers.size());
  std::transform(numbers.begin(), numbers.end(), halves.begin(), dtype == DType::bf16 ? f32_to_bf16 : f32_to_f16);
  return halves;
}

}  // namespace

std::map<std::string, DType> stored_dtypes(const ModelConfig& config, const std::vector<Value>& parameters,
                                           const Checkpoint& checkpoint) {
  std::map<std::string, DType> dtypes;
  for (const Value& parameter : parameters) {
    std::set<FileDType> found;
    for (const DiskSlice& slice : disk_layout(config, parameter.name, parameter.type.shape))
      if (checkpoint.contains(slice.name)) found.insert(checkpoint.view(slice.name).dtype);
    DType dtype = DType::f32;
    if (found == std::set{FileDType::F16}) dtype = DType::f16;
    if (found == std::set{FileDType::BF16}) dtype = DType::bf16;
    // Norms and biases are a few numbers, read by kernels that take f32 only.
    if (parameter.type.shape.size() < 2) dtype = DType::f32;
    dtypes[parameter.name] = dtype;
  }
  return dtypes;
}

void check_weights(const ModelConfig& config, const std::vector<Value>& parameters, const Checkpoint& checkpoint) {
  NameCheck names(checkpoint);
  for (const Value& value : parameters)
    for (const DiskSlice& slice : disk_layout(config, value.name, value.type.shape)) names.want(slice.name, slice.shape);
  names.finish([&](std::string_view name) {
    return is_known_buffer(name) || (config.tie_word_embeddings && name == "lm_head.weight") ||
           (config.family->ignorable != nullptr && config.family->ignorable(name));
  });
  check_tied_head(config, checkpoint);
}

void load_weights(Storage& storage, const Graph& graph, const ModelConfig& config, const Checkpoint& checkpoint) {
  std::vector<Value> parameters;
  for (const Value* value : base_parameters(graph)) parameters.push_back(*value);
  check_weights(config, parameters, checkpoint);
  for (const Value& value : parameters)
    for (const DiskSlice& slice : disk_layout(config, value.name, value.type.shape))
      upload(storage, value, checkpoint.view(slice.name), slice.first_element);
}

void load_adapter(Storage& storage, const Graph& graph, const Checkpoint& adapter) {
  NameCheck names(adapter);
  std::vector<const Value*> found;
  for (const ValueId id : graph.of_kind(ValueKind::parameter))
    if (is_adapter_parameter(graph[id].name) && names.want(graph[id].name, graph.shape(id)) != nullptr)
      found.push_back(&graph[id]);
  names.finish([](std::string_view) { return false; });
  for (const Value* value : found) upload(storage, *value, adapter.view(value->name), 0);
}

void initialise_weights(Storage& storage, const Graph& graph, const ModelConfig& config, uint64_t seed) {
  for (const Value* value : base_parameters(graph)) {
    const auto count = static_cast<size_t>(element_count(value->type.shape));
    std::vector<float> numbers;
    if (value->type.shape.size() >= 2) {
      numbers = normal_numbers(count, config.initializer_range, value->name, seed);
      if (value->name.ends_with("embed_tokens.weight") && config.pad_token_id >= 0) {
        const auto width = static_cast<size_t>(config.hidden_size);
        const auto row = numbers.begin() + static_cast<ptrdiff_t>(static_cast<size_t>(config.pad_token_id) * width);
        std::fill(row, row + static_cast<ptrdiff_t>(width), 0.0f);
      }
    } else {
      numbers.assign(count, value->name.ends_with("bias") ? 0.0f : 1.0f);
    }
    const DType dtype = value->type.dtype;
    if (dtype == DType::f32) {
      storage.write(value->name, std::as_bytes(std::span(numbers)));
    } else {
      const std::vector<uint16_t> halves = as_halves(numbers, dtype);
      storage.write(value->name, std::as_bytes(std::span(halves)));
    }
  }
}

void initialise_adapter(Storage& storage, const Graph& graph, uint64_t seed) {
  for (const ValueId id : graph.of_kind(ValueKind::parameter)) {
    const Value& value = graph[id];
    if (!is_adapter_parameter(value.name)) continue;
    if (!value.name.ends_with(".lora_A.weight")) {
      storage.clear(value.name);
      continue;
    }
    const std::vector<float> numbers = initial_lora_a(value.name, value.type.shape[0], value.type.shape[1], seed);
    storage.write(value.name, std::as_bytes(std::span(numbers)));
  }
}

std::vector<TensorSource> tensor_sources(Storage& storage, const Graph& graph, const ModelConfig& config, bool adapter) {
  std::vector<TensorSource> sources;
  for (const ValueId id : graph.of_kind(ValueKind::parameter)) {
    const Value& value = graph[id];
    if (is_adapter_parameter(value.name) != adapter) continue;
    const std::vector<DiskSlice> slices =
        adapter ? std::vector<DiskSlice>{{value.name, value.type.shape, 0}} : disk_layout(config, value.name, value.type.shape);
    for (const DiskSlice& slice : slices) {
      const int64_t unit = byte_size(value.type.dtype);
      const auto stream = [&storage, name = value.name, slice, unit](const ByteSink& sink) {
        Place place = storage.place(name);
        place.offset += slice.first_element * unit;
        place.bytes = element_count(slice.shape) * unit;
        sink(storage.read(place));
      };
      TensorSource source{{slice.name, file_dtype(value.type.dtype), slice.shape}, stream};
      sources.push_back(value.type.dtype == DType::f32 ? only_finite(std::move(source)) : std::move(source));
    }
  }
  return sources;
}

}  // namespace lemnos
