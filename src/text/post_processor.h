#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace lemnos {

/// The special tokens that frame one sequence.
struct PostProcessor {
  std::vector<int32_t> before;
  std::vector<int32_t> behind;
};

/// Reads the field `post_processor` (TemplateProcessing, BertProcessing, RobertaProcessing,
/// ByteLevel, Sequence) of tokenizer.json, for a single sequence; null adds nothing.
PostProcessor read_post_processor(const Json& json);

}  // namespace lemnos
