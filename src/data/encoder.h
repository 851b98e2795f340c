#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lemnos::data {

/// What the data pipeline needs of a tokenizer and its model; keeps src/data free of src/text.
struct Encoder {
  virtual ~Encoder() = default;
  /// Token ids of valid UTF-8 text. `add_special_tokens` runs the tokenizer's post-processor.
  virtual std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const = 0;

  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
  /// Rows of the model's embedding: ids must be below it. Often more than the tokenizer's entries.
  int64_t vocabulary_rows = 0;
};

/// For runs without a tokenizer: only `input_ids` rows can be read; others are an Error{usage}.
struct TokenIdsOnly final : Encoder {
  explicit TokenIdsOnly(int64_t rows) { vocabulary_rows = rows; }
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const override;
};

}  // namespace lemnos::data
