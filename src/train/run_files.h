#pragma once

#include <filesystem>
#include <optional>

#include "peft/adapter_config.h"
#include "train/engine.h"

namespace lemnos::train {

/// What a run's folders hold besides the weights on the device.
struct RunIdentity {
  ModelConfig model;
  std::optional<AdapterConfig> adapter;             // LoRA runs
  std::filesystem::path model_folder;  // tokenizer files and generation_config.json come from there
};

/// Writes what a user loads: adapter_model.safetensors + adapter_config.json (LoRA), or
/// model.safetensors [+ index] + config.json (full), and the tokenizer's files. `folder` exists and
/// holds none of them.
void write_model_files(const std::filesystem::path& folder, Engine& engine, const RunIdentity& identity);

/// Puts the same files into a run's folder, which may hold older ones: staged beside, checked, then
/// moved in one by one, the config last.
void publish_model_files(const std::filesystem::path& run_folder, Engine& engine, const RunIdentity& identity);

}  // namespace lemnos::train
