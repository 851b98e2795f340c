#pragma once

#include "base/json.h"

namespace lemnos {

/// What the files beside tokenizer.json say; absent files are null.
struct TokenizerSideFiles {
  Json tokenizer_config;
  // Read only when tokenizer_config has no `added_tokens_decoder`:
  Json special_tokens_map;
  Json added_tokens;
};

}  // namespace lemnos
