#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lemnos {

/// The model "BPE" of tokenizer.json: vocabulary, ranked merges, unknown characters. Immutable.
class Bpe {
 public:
  /// Reads the field `model`; other model types are refused by name.
  explicit Bpe(const Json& model);
  ~Bpe();
  Bpe(Bpe&&) noexcept;
  Bpe& operator=(Bpe&&) noexcept;

  /// Appends the ids of one word of valid UTF-8. Time n log n in its length.
  void encode_word(std::string_view word, std::vector<int32_t>& ids) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// Null when no token has the id.
  const std::string* id_to_token(int32_t id) const;
  size_t vocab_size() const;
  int32_t max_id() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lemnos
