#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer_side_files.h"

namespace lemnos {

/// A Hugging Face tokenizer.json with a BPE model; ids are those of the `tokenizers` package.
/// Immutable: threads may share one.
///
/// Text is UTF-8. Ill-formed bytes are read as Python's `bytes.decode("utf-8", errors="replace")`
/// reads them: one U+FFFD for each maximal ill-formed part. (A Python str with lone surrogates,
/// which `tokenizers` refuses, cannot be told from such bytes here and becomes three U+FFFD each.)
class Tokenizer {
 public:
  /// Reads tokenizer.json and the side files that are there (tokenizer_config.json,
  /// special_tokens_map.json, added_tokens.json). What is not supported is refused by name.
  static Tokenizer load(const std::filesystem::path& model_dir);
  static Tokenizer from_json(const Json& tokenizer_json, const TokenizerSideFiles& side_files = {});
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// `add_special_tokens` applies the post-processor (the frame of BOS and EOS). Truncation and
  /// padding written in tokenizer.json are not applied.
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const;
  /// Ids without a token are left out. No clean-up of spaces.
  std::string decode(std::span<const int32_t> ids, bool skip_special_tokens) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(int32_t id) const;
  /// Distinct tokens, added ones included. A model may have more rows.
  size_t vocab_size() const;
  /// The largest id in use; a model must have more rows than this.
  int32_t max_token_id() const;

  std::optional<int32_t> bos_token_id() const;
  std::optional<int32_t> eos_token_id() const;
  std::optional<int32_t> pad_token_id() const;
  std::optional<int32_t> unk_token_id() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Decodes ids one by one as they are generated and hands out text only when it is final: never
/// half a character. The parts join to what `decode` gives for all ids at once.
class StreamDecoder {
 public:
  /// The tokenizer must outlive it.
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special_tokens)
      : tokenizer_(tokenizer), skip_special_tokens_(skip_special_tokens) {}

  /// The text that this id completes, often one token's, at times none.
  std::string push(int32_t id);
  /// What is left when no more ids come; an unfinished character becomes U+FFFD.
  std::string finish();

 private:
  std::string text_of(size_t ids) const;
  std::string emit(const std::string& text);

  const Tokenizer& tokenizer_;
  bool skip_special_tokens_;
  std::vector<int32_t> window_;  ///< ids of the last part handed out, then those that wait
  size_t shown_ids_ = 0;         ///< how many of them are handed out
};

}  // namespace lemnos
