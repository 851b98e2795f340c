#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "peft/lora.h"

namespace lemnos {

struct AdapterConfig {
  LoraConfig lora;
  std::string base_model_name_or_path;
};

/// Reads adapter_config.json. Keys with a null or default value are passed over; a key that asks for
/// something not supported (use_dora, rank_pattern, modules_to_save, another peft_type ...) is
/// Error{unsupported} naming it.
AdapterConfig read_adapter_config(const std::filesystem::path& file);

/// adapter_config.json as PEFT writes it: all keys, sorted.
Json adapter_config_json(const AdapterConfig& config);

}  // namespace lemnos
