#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace lemnos::data {

struct TextRow {
  std::string text;
};
struct PairRow {
  std::string prompt;
  std::string completion;
};
struct TokenRow {
  std::vector<int32_t> ids;
  /// As in Hugging Face: one per id, not shifted, -100 where there is no loss.
  std::optional<std::vector<int32_t>> labels;
};
using Row = std::variant<TextRow, PairRow, TokenRow>;

/// Tells the kind of a row by its keys: `input_ids` (+ `labels`, + an `attention_mask` of ones),
/// `prompt` + `completion`, or `text_field`. Throws Error{corrupt_input} for a row that is wrong
/// and Error{unsupported} for chat and multimodal rows; neither names the place. Keys that are not
/// read are added to `ignored_columns`.
Row parse_row(const Json& row, std::string_view text_field, std::set<std::string>& ignored_columns);

}  // namespace lemnos::data
