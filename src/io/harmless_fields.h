#pragma once

#include <string_view>

#include "base/json.h"

namespace lemnos {

/// Whether Transformers' PreTrainedConfig gives this field of a config.json a meaning of its own
/// that does not change what a decoder computes, whatever its value or with this value.
bool is_harmless_field(std::string_view key, const Json& value);

/// A value that switches off whatever the field means: null, false, "", [], {}, or a dropout of 0.
bool is_switched_off(std::string_view key, const Json& value);

}  // namespace lemnos
