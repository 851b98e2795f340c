#pragma once

#include <string>

#include "models/model.h"

namespace lemnos {

/// The fields of config.json that a feature comes from, with their values, for messages:
/// "num_attention_heads = 4, num_key_value_heads = 1". Empty when the family itself has it or the fields
/// are not given.
std::string fields_behind(const ModelConfig& config, const std::string& feature);

}  // namespace lemnos
