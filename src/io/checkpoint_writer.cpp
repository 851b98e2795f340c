#include "io/checkpoint_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/json.h"
#include "io/tensor_codec.h"

namespace lemnos {
namespace {

using Shard = std::vector<const TensorSource*>;

FileDType stored_dtype(const TensorSource& tensor, const CheckpointWriteOptions& options) {
  return options.dtype && is_decodable_float(tensor.plan.dtype) ? *options.dtype
                                                                : tensor.plan.dtype;
}

uint64_t stored_bytes(const TensorSource& tensor, const CheckpointWriteOptions& options) {
  return tensor_bytes(stored_dtype(tensor, options), tensor.plan.shape, tensor.plan.name);
}

/// huggingface_hub's rule: fill a shard in the order given until the next tensor would not fit; a
/// tensor larger than the limit gets a shard of its own, before the one being filled.
std::vector<Shard> split(const std::vector<TensorSource>& tensors,
                         const CheckpointWriteOptions& options) {
  std::vector<Shard> shards;
  Shard current;
  uint64_t current_bytes = 0;
  for (const TensorSource& tensor : tensors) {
    const uint64_t bytes = stored_bytes(tensor, options);
    if (bytes > options.max_shard_bytes) {
      shards.push_back({&tensor});
      continue;
    }
    if (current_bytes + bytes > options.max_shard_bytes) {
      shards.push_back(std::move(current));
      current.clear();
      current_bytes = 0;
    }
    current.push_back(&tensor);
    current_bytes += bytes;
  }
  if (!current.empty() || shards.empty()) shards.push_back(std::move(current));
  return shards;
}

void stream_tensor(const TensorSource& tensor, const TensorInfo& stored,
                   SafetensorsWriter& writer) {
  const FileDType from = tensor.plan.dtype;
  uint64_t written = 0;
  tensor.stream([&](std::span<const std::byte> bytes) {
    LEMNOS_CHECK(bytes.size() % (dtype_bits(from) / 8) == 0, "{}: a torn element", stored.name);
    if (from == stored.dtype) {
      writer.append(bytes);
      written += bytes.size();
    } else {
      const auto converted = convert_floats(bytes, from, stored.dtype, stored.name);
      writer.append(converted);
      written += converted.size();
    }
  });
  LEMNOS_CHECK(written == stored.end - stored.begin, "{}: {} bytes came, {} were planned",
               stored.name, written, stored.end - stored.begin);
}

void write_shard(const std::filesystem::path& file, const Shard& shard,
                 const CheckpointWriteOptions& options) {
  std::vector<TensorPlan> plans;
  std::unordered_map<std::string_view, const TensorSource*> by_name;
  for (const TensorSource* tensor : shard) {
    plans.push_back({tensor->plan.name, stored_dtype(*tensor, options), tensor->plan.shape});
    by_name.emplace(tensor->plan.name, tensor);
  }
  SafetensorsWriter writer(file, plans);
  for (const TensorInfo& stored : writer.order())
    stream_tensor(*by_name.at(stored.name), stored, writer);
  writer.finish();
}

void write_index(const std::filesystem::path& file,
                 const std::map<std::string, std::string>& weight_map,
                 const std::vector<TensorSource>& tensors, const CheckpointWriteOptions& options) {
  uint64_t total_size = 0, total_parameters = 0;
  for (const TensorSource& tensor : tensors) {
    total_size += stored_bytes(tensor, options);
    uint64_t elements = 1;
    for (const int64_t size : tensor.plan.shape) elements *= static_cast<uint64_t>(size);
    total_parameters += elements;
  }
  Json::Object entries(weight_map.begin(), weight_map.end());
  const Json index(Json::Object{
      {"metadata",
       Json(Json::Object{{"total_parameters", total_parameters}, {"total_size", total_size}})},
      {"weight_map", Json(std::move(entries))}});
  write_file_atomic(file, index.dump(2) + "\n");
}

void refuse_existing_weights(const std::filesystem::path& folder, std::string_view stem) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool weights =
        name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
    if (name.starts_with(stem) && weights)
      fail(ErrorKind::io, "{}: already holds weights ({}); choose another folder or remove them",
           folder.string(), name);
  }
}

void check_names(const std::vector<TensorSource>& tensors) {
  std::set<std::string_view> names;
  for (const TensorSource& tensor : tensors)
    LEMNOS_CHECK(names.insert(tensor.plan.name).second, "{} twice", tensor.plan.name);
}

}  // namespace

TensorSource only_finite(TensorSource source) {
  auto check = [name = source.plan.name](std::span<const std::byte> bytes) {
    for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
      float value;
      std::memcpy(&value, bytes.data() + at, sizeof value);
      if (!std::isfinite(value))
        fail(ErrorKind::usage,
             "{} holds a value that is not finite after this step, so nothing is saved; lower learning_rate or weight_decay", name);
    }
  };
  source.stream = [stream = std::move(source.stream), check = std::move(check)](const ByteSink& sink) {
    stream([&](std::span<const std::byte> bytes) {
      check(bytes);
      sink(bytes);
    });
  };
  return source;
}

void write_checkpoint(const std::filesystem::path& folder, const std::vector<TensorSource>& tensors,
                      const CheckpointWriteOptions& options) {
  LEMNOS_CHECK(!options.dtype || is_decodable_float(*options.dtype));
  check_names(tensors);
  refuse_existing_weights(folder, options.stem);
  const std::vector<Shard> shards = split(tensors, options);
  if (shards.size() == 1)
    return write_shard(folder / format("{}.safetensors", options.stem), shards[0], options);
  std::map<std::string, std::string> weight_map;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name =
        format("{}-{:05}-of-{:05}.safetensors", options.stem, i + 1, shards.size());
    write_shard(folder / name, shards[i], options);
    for (const TensorSource* tensor : shards[i]) weight_map.emplace(tensor->plan.name, name);
  }
  write_index(folder / format("{}.safetensors.index.json", options.stem), weight_map, tensors,
              options);
}

}  // namespace lemnos
