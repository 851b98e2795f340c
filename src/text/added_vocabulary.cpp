#include "text/added_vocabulary.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word(utf8_before(text, text.size()).value);
}
bool starts_with_word(std::string_view text) {
  return !text.empty() && is_word(utf8_at(text, 0).value);
}

size_t without_space_before(std::string_view text, size_t end) {
  while (end > 0 && is_whitespace(utf8_before(text, end).value)) end -= utf8_before(text, end).size;
  return end;
}
size_t without_space_behind(std::string_view text, size_t at) {
  while (at < text.size() && is_whitespace(utf8_at(text, at).value)) at += utf8_at(text, at).size;
  return at;
}

void append_non_empty(Piece piece, Pieces& out) {
  if (!piece.text.empty()) out.push_back(std::move(piece));
}

}  // namespace

AddedToken read_added_token(const Json& json) {
  AddedToken token;
  token.content = json.at("content").as_string();
  token.single_word = bool_or(json, "single_word", false);
  token.lstrip = bool_or(json, "lstrip", false);
  token.rstrip = bool_or(json, "rstrip", false);
  token.special = bool_or(json, "special", false);
  token.normalized = bool_or(json, "normalized", !token.special);
  return token;
}

void AddedVocabulary::add(const std::vector<AddedToken>& tokens, const Bpe& model) {
  for (const AddedToken& token : tokens) {
    if (token.special && !token.content.empty() && special_contents_.insert(token.content).second)
      special_order_.push_back(token);
  }
  for (const AddedToken& token : tokens)
    if (!token.content.empty() && !holds(token)) add_one(token, model);
}

bool AddedVocabulary::holds(const AddedToken& token) const {
  const auto id = ids_.find(token.content);
  return id != ids_.end() && by_id_.at(id->second) == token;
}

void AddedVocabulary::add_one(const AddedToken& token, const Bpe& model) {
  std::optional<int32_t> id = token_to_id(token.content);
  if (!id) id = model.token_to_id(token.content);
  if (!id) {
    id = static_cast<int32_t>(model.vocab_size());
    if (!by_id_.empty()) id = std::max(*id, by_id_.rbegin()->first + 1);
  }
  ids_[token.content] = *id;
  by_id_[*id] = token;
  if (!is_special(token.content)) plain_order_.push_back(token);
}

void AddedVocabulary::index(const Normalizer* normalizer) {
  const auto sought = [&](const AddedToken& token) {
    Piece content;
    content.text = token.content;
    if (token.normalized && normalizer != nullptr) normalizer->normalize(content);
    return content.text;
  };
  std::vector<std::pair<std::string, int32_t>> raw;
  std::vector<std::pair<std::string, int32_t>> normalized;
  for (const auto* order : {&special_order_, &plain_order_})
    for (const AddedToken& token : *order)
      (token.normalized ? normalized : raw).emplace_back(sought(token), ids_.at(token.content));
  raw_ = TokenTrie(raw);
  normalized_ = TokenTrie(normalized);
  for (const auto& [id, token] : by_id_) decoded_[id] = sought(token);
}

void AddedVocabulary::take_match(const TokenTrie::Match& match, const Piece& piece, size_t& covered,
                                 Pieces& out) const {
  const std::string_view text = piece.text;
  const AddedToken& token = by_id_.at(match.id);
  size_t begin = match.begin;
  size_t end = match.end;
  if (token.single_word &&
      (ends_with_word(text.substr(0, begin)) || starts_with_word(text.substr(end))))
    return;
  if (token.lstrip) begin = std::max(without_space_before(text, begin), covered);
  if (token.rstrip) end = without_space_behind(text, end);
  if (covered < begin) append_non_empty(piece.slice(covered, begin), out);
  Piece found;
  found.token_id = match.id;
  out.push_back(std::move(found));
  covered = end;
}

Pieces AddedVocabulary::cut(const Piece& piece, const TokenTrie& trie) const {
  Pieces out;
  size_t covered = 0;
  for (const TokenTrie::Match& match : trie.find_all(piece.text))
    take_match(match, piece, covered, out);
  if (covered != piece.text.size()) append_non_empty(piece.slice(covered, piece.text.size()), out);
  return out;
}

Pieces AddedVocabulary::extract(std::string_view text, const Normalizer* normalizer) const {
  Piece whole;
  whole.text = std::string(text);
  whole.at_start = true;
  whole.start_bytes = text.empty() ? 0 : utf8_at(text, 0).size;
  Pieces out;
  for (Piece& piece : cut(whole, raw_)) {
    if (piece.is_token()) {
      out.push_back(std::move(piece));
      continue;
    }
    if (normalizer != nullptr) normalizer->normalize(piece);
    Pieces parts = cut(piece, normalized_);
    std::ranges::move(parts, std::back_inserter(out));
  }
  return out;
}

std::optional<int32_t> AddedVocabulary::token_to_id(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* AddedVocabulary::id_to_token(int32_t id) const {
  const auto found = decoded_.find(id);
  return found == decoded_.end() ? nullptr : &found->second;
}

}  // namespace lemnos
