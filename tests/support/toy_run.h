#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/half.h"
#include "io/checkpoint_writer.h"
#include "io/file.h"
#include "io/temporary_dir.h"
#include "models/model_builder.h"
#include "train/session.h"

namespace lemnos::train {

/// A llama of two layers that trains in moments: vocabulary 40, width 16.
inline Json toy_model_json(bool tied = false) {
  Json json = Json::parse(
      R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 40,
          "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
          "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
          "rms_norm_eps": 1e-5, "hidden_act": "silu", "bos_token_id": 1, "eos_token_id": 2})",
      "toy");
  json.set("tie_word_embeddings", tied);
  return json;
}

/// Ten rows of ids below 33: five batches of two, so windows of two batches end an epoch in half.
inline std::string toy_rows() {
  std::string text;
  for (int row = 0; row < 10; ++row) {
    text += R"({"input_ids": [1)";
    for (int i = 0; i < 3 + row % 5; ++i) text += ", " + std::to_string(3 + (row * 7 + i * 5) % 30);
    text += "]}\n";
  }
  return text;
}

/// Numbers around 0 that bfloat16 holds exactly, another row of them per name.
inline std::vector<float> toy_values(const std::string& name, int64_t count, bool norm) {
  std::vector<float> values(static_cast<size_t>(count));
  const double phase = static_cast<double>(std::hash<std::string>()(name) % 1000);
  for (size_t i = 0; i < values.size(); ++i) {
    const double wave = std::sin(phase + 1.7 * static_cast<double>(i * i % 911));
    values[i] = bf16_to_f32(f32_to_bf16(static_cast<float>(norm ? 1 + wave / 8 : wave / 4)));
  }
  return values;
}

/// A folder with config.json, weights of toy_values and rows.jsonl.
class ToyFolder {
 public:
  explicit ToyFolder(Json model = toy_model_json(), std::optional<FileDType> dtype = std::nullopt)
      : dir_("lemnos-train") {
    std::filesystem::create_directories(base());
    write_file_atomic(base() / "config.json", model.dump(2));
    write_file_atomic(rows(), toy_rows());
    write_weights(read_model_config(std::move(model), "toy"), dtype);
  }

  std::filesystem::path base() const { return dir_.path() / "base"; }
  std::filesystem::path rows() const { return dir_.path() / "rows.jsonl"; }
  std::filesystem::path operator/(const std::string& name) const { return dir_.path() / name; }

  /// Two epochs of three windows.
  TrainConfig config(const std::string& output) const {
    TrainConfig c;
    c.model_name_or_path = base().string();
    c.output_dir = (dir_.path() / output).string();
    c.dataset_name = {rows().string()};
    c.per_device_train_batch_size = 2;
    c.gradient_accumulation_steps = 2;
    c.num_train_epochs = 2;
    c.pad_to_multiple_of = 8;
    c.learning_rate = 1e-2;
    c.logging_steps = 1;
    c.save_steps = 1;
    if (const char* device = std::getenv("LEMNOS_TEST_DEVICE"))
      c.device = device;
    else
      c.use_cpu = true;
    return c;
  }
  TrainConfig lora(const std::string& output) const {
    TrainConfig c = config(output);
    c.use_peft = true;
    c.lora_r = 4;
    c.lora_dropout = 0.1;
    return c;
  }

  /// Replaces one number of the base.
  void poison(const std::string& tensor, float value) { poison_[tensor] = value; rewrite(); }

 private:
  void rewrite() {
    std::filesystem::remove(base() / "model.safetensors");
    write_weights(read_model_config(base() / "config.json"), std::nullopt);
  }
  void write_weights(const ModelConfig& model, std::optional<FileDType> dtype) const {
    std::vector<TensorSource> sources;
    for (const Value& value : outline(model).parameters) {
      std::vector<float> numbers =
          toy_values(value.name, element_count(value.type.shape), value.type.shape.size() == 1);
      if (const auto found = poison_.find(value.name); found != poison_.end())
        numbers[0] = found->second;
      sources.push_back({{value.name, FileDType::F32, value.type.shape},
                         [numbers](const ByteSink& sink) { sink(std::as_bytes(std::span(numbers))); }});
    }
    write_checkpoint(base(), sources, {.dtype = dtype});
  }

  TemporaryDir dir_;
  std::map<std::string, float> poison_;
};

/// Runs to the end, or until `stop_after` steps of this call.
inline TrainResult run(const TrainConfig& config, int stop_after = -1) {
  int steps = 0;
  return run_training(config, [&steps, stop_after] { return ++steps == stop_after; });
}

inline TrainConfig resuming(TrainConfig config, const std::string& from = "auto") {
  config.resume_from_checkpoint = from;
  return config;
}

inline std::vector<float> floats_of(const std::filesystem::path& folder, const std::string& name,
                                    std::string_view stem = "model") {
  const Checkpoint checkpoint = Checkpoint::open(folder, stem);
  const TensorView& view = checkpoint.view(name);
  std::vector<float> values(static_cast<size_t>(view.elements()));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  return values;
}

}  // namespace lemnos::train
