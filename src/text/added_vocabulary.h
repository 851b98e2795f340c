#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/bpe.h"
#include "text/component.h"
#include "text/token_trie.h"

namespace lemnos {

/// A token beside the model's vocabulary (or on top of one of its entries), cut out of the text
/// before the model sees it.
struct AddedToken {
  std::string content;
  bool single_word = false;  ///< not inside of a word
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space behind it
  bool normalized = true;    ///< searched for, normalized, in the normalized text
  bool special = false;      ///< left out of decoded text when asked for

  bool operator==(const AddedToken&) const = default;
};

/// Reads `{"content": ..., "lstrip": ...}`; absent flags are false, `normalized` is `!special`.
AddedToken read_added_token(const Json& json);

class AddedVocabulary {
 public:
  /// Adds tokens in order, as `Tokenizer::add_tokens` does: the ids follow from the model and what
  /// is there already. A known content takes the new flags. Call `index` when all are added.
  void add(const std::vector<AddedToken>& tokens, const Bpe& model);
  /// Prepares the search.
  void index(const Normalizer* normalizer);

  /// Cuts added tokens out of a text and normalizes what lies between them.
  Pieces extract(std::string_view text, const Normalizer* normalizer) const;

  std::optional<int32_t> token_to_id(std::string_view token) const;
  /// The text that decoding sees: a token searched for in normalized text shows its normalized
  /// form.
  const std::string* id_to_token(int32_t id) const;
  bool is_special(const std::string& token) const { return special_contents_.contains(token); }
  const std::map<int32_t, AddedToken>& tokens() const { return by_id_; }

 private:
  bool holds(const AddedToken& token) const;
  void add_one(const AddedToken& token, const Bpe& model);
  Pieces cut(const Piece& piece, const TokenTrie& trie) const;
  void take_match(const TokenTrie::Match& match, const Piece& piece, size_t& covered,
                  Pieces& out) const;

  std::unordered_map<std::string, int32_t> ids_;
  std::map<int32_t, AddedToken> by_id_;
  std::unordered_map<int32_t, std::string> decoded_;
  std::vector<AddedToken> special_order_;
  std::vector<AddedToken> plain_order_;
  std::unordered_set<std::string> special_contents_;
  TokenTrie raw_;
  TokenTrie normalized_;
};

}  // namespace lemnos
