#include "text/bpe.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "text/component.h"
#include "text/flat_map.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

/// One symbol of a word, linked to its neighbours; length 0 once merged into its left one.
struct Symbol {
  int32_t id;
  int32_t previous;
  int32_t next;
  bool alive;
};

struct Merge {
  uint32_t rank;
  int32_t position;
  int32_t new_id;
  bool operator>(const Merge& other) const {
    return rank != other.rank ? rank > other.rank : position > other.position;
  }
};

uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

std::optional<std::string> optional_string(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return value->as_string();
}

/// A merge rule "a b" or ["a", "b"].
std::pair<std::string_view, std::string_view> read_merge(const Json& json, size_t line) {
  if (json.is_array() && json.as_array().size() == 2)
    return {json.as_array()[0].as_string(), json.as_array()[1].as_string()};
  if (json.is_string()) {
    const std::string_view text = json.as_string();
    const size_t space = text.find(' ');
    if (space != text.npos && text.find(' ', space + 1) == text.npos)
      return {text.substr(0, space), text.substr(space + 1)};
  }
  fail(ErrorKind::corrupt_input, "merge {} is not a pair of tokens: {}", line,
       json.dump());
}

void refuse_other_models(const Json& model) {
  const Json* type = model.find("type");
  if (type != nullptr ? type->as_string() != "BPE" : !model.contains("merges"))
    fail(ErrorKind::unsupported, "the model \"{}\" is not supported, only BPE is",
         type != nullptr ? type->as_string() : "without a type");
  const Json* dropout = model.find("dropout");
  if (dropout != nullptr && !dropout->is_null() && dropout->as_number() != 0)
    fail(ErrorKind::unsupported, "BPE dropout {} is not supported",
         dropout->as_number());
}

}  // namespace

struct Bpe::Impl {
  Vocabulary vocabulary;
  std::vector<const std::string*> tokens;  ///< by id; into the keys of `vocabulary`
  FlatMap merges;                          ///< pair of ids -> rank, new id
  FlatMap characters;                      ///< code point -> id
  std::vector<int32_t>
      byte_tokens;  ///< <0x00>..<0xFF>, -1 where missing; empty without byte_fallback
  std::optional<std::string> unk_token;
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;
  bool ignore_merges = false;

  void read_vocabulary(const Json& vocab);
  void read_merges(const Json& json);
  void read_byte_tokens();

  std::optional<int32_t> find(std::string_view token) const {
    const auto found = vocabulary.find(token);
    return found == vocabulary.end() ? std::nullopt : std::optional(found->second);
  }
  int32_t id_of(std::string_view token, size_t line) const;
  std::optional<int32_t> character_id(std::string_view character, bool is_first,
                                      bool is_last) const;
  int32_t unknown_id() const;
  bool append_byte_tokens(std::string_view character, bool is_first, bool is_last,
                          std::vector<Symbol>& symbols) const;
  void split_to_symbols(std::string_view word, std::vector<Symbol>& symbols) const;
  void merge_all(std::vector<Symbol>& symbols) const;
  std::string decorated(std::string_view character, bool is_first, bool is_last) const;
};

void Bpe::Impl::read_vocabulary(const Json& vocab) {
  const Json::Object& entries = vocab.as_object();
  vocabulary.reserve(entries.size());
  characters = FlatMap(entries.size());
  for (const auto& [token, value] : entries) {
    const int64_t id = value.as_integer();
    if (id < 0 || id >= std::numeric_limits<int32_t>::max())
      fail(ErrorKind::corrupt_input, "token \"{}\" has the id {}", token, id);
    const auto [entry, is_new] = vocabulary.emplace(token, static_cast<int32_t>(id));
    const auto at = static_cast<size_t>(id);
    if (at >= entries.size() * 16 + 65536)
      fail(ErrorKind::corrupt_input,
           "token \"{}\" has the id {}, far beyond the {} entries", token, id,
           entries.size());
    if (at >= tokens.size()) tokens.resize(at + 1, nullptr);
    tokens[at] = &entry->first;
    if (!token.empty() && utf8_at(token, 0).size == token.size())
      characters.set(utf8_at(token, 0).value, static_cast<uint32_t>(id), 0);
  }
}

int32_t Bpe::Impl::id_of(std::string_view token, size_t line) const {
  if (const auto id = find(token)) return *id;
  fail(ErrorKind::corrupt_input,
       "merge {} needs the token \"{}\", which is not in the vocabulary", line,
       token);
}

void Bpe::Impl::read_merges(const Json& json) {
  const Json::Array& rules = json.as_array();
  merges = FlatMap(rules.size());
  std::string joined;
  for (size_t rank = 0; rank < rules.size(); ++rank) {
    const auto [left, right] = read_merge(rules[rank], rank + 1);
    if (right.size() < continuing_subword_prefix.size())
      fail(ErrorKind::corrupt_input, "merge {} lacks the prefix {}", rank + 1,
           continuing_subword_prefix);
    joined.assign(left).append(right.substr(continuing_subword_prefix.size()));
    const uint64_t pair = pair_key(id_of(left, rank + 1), id_of(right, rank + 1));
    merges.set(pair, static_cast<uint32_t>(rank), static_cast<uint32_t>(id_of(joined, rank + 1)));
  }
}

void Bpe::Impl::read_byte_tokens() {
  constexpr char kDigits[] = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    const char name[] = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    byte_tokens.push_back(find(std::string_view(name, sizeof name)).value_or(-1));
  }
}

std::string Bpe::Impl::decorated(std::string_view character, bool is_first, bool is_last) const {
  std::string text;
  if (!is_first) text = continuing_subword_prefix;
  text += character;
  if (is_last) text += end_of_word_suffix;
  return text;
}

std::optional<int32_t> Bpe::Impl::character_id(std::string_view character, bool is_first,
                                               bool is_last) const {
  if (!continuing_subword_prefix.empty() || !end_of_word_suffix.empty())
    return find(decorated(character, is_first, is_last));
  const FlatMap::Entry* entry = characters.find(utf8_at(character, 0).value);
  return entry == nullptr ? std::nullopt : std::optional(static_cast<int32_t>(entry->first));
}

int32_t Bpe::Impl::unknown_id() const {
  if (const auto id = find(*unk_token)) return *id;
  fail(ErrorKind::corrupt_input, "the unk_token \"{}\" is not in the vocabulary",
       *unk_token);
}

void append_symbol(std::vector<Symbol>& symbols, int32_t id) {
  const auto at = static_cast<int32_t>(symbols.size());
  if (at > 0) symbols.back().next = at;
  symbols.push_back({id, at - 1, -1, true});
}

bool Bpe::Impl::append_byte_tokens(std::string_view character, bool is_first, bool is_last,
                                   std::vector<Symbol>& symbols) const {
  if (byte_tokens.empty()) return false;
  const std::string bytes = decorated(character, is_first, is_last);
  const auto token_of = [this](char c) { return byte_tokens[static_cast<unsigned char>(c)]; };
  if (std::ranges::any_of(bytes, [&](char c) { return token_of(c) < 0; })) return false;
  for (char c : bytes) append_symbol(symbols, token_of(c));
  return true;
}

/// Unknown characters wait in `unknown` so that fuse_unk can join them; byte tokens pass a waiting
/// one.
void Bpe::Impl::split_to_symbols(std::string_view word, std::vector<Symbol>& symbols) const {
  constexpr int32_t kNone = -1;
  int32_t unknown = kNone;
  for (size_t at = 0; at < word.size();) {
    const size_t size = utf8_at(word, at).size;
    const std::string_view character = word.substr(at, size);
    const bool is_first = at == 0;
    at += size;
    const bool is_last = at == word.size();
    if (const auto id = character_id(character, is_first, is_last)) {
      if (unknown != kNone) append_symbol(symbols, unknown);
      unknown = kNone;
      append_symbol(symbols, *id);
    } else if (!append_byte_tokens(character, is_first, is_last, symbols) && unk_token) {
      if (unknown != kNone && !fuse_unk) append_symbol(symbols, unknown);
      unknown = unknown_id();
    }
  }
  if (unknown != kNone) append_symbol(symbols, unknown);
}

/// Applies merges by rank, then from left to right.
void Bpe::Impl::merge_all(std::vector<Symbol>& symbols) const {
  thread_local std::vector<Merge> heap;
  heap.clear();
  const auto at = [&](int32_t i) -> Symbol& { return symbols[static_cast<size_t>(i)]; };
  const auto push = [&](int32_t left, int32_t right) {
    if (const auto* rule = merges.find(pair_key(at(left).id, at(right).id))) {
      heap.push_back({rule->first, left, static_cast<int32_t>(rule->second)});
      std::ranges::push_heap(heap, std::greater<>{});
    }
  };
  for (int32_t i = 0; i + 1 < static_cast<int32_t>(symbols.size()); ++i) push(i, i + 1);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, std::greater<>{});
    const Merge merge = heap.back();
    heap.pop_back();
    Symbol& left = at(merge.position);
    if (!left.alive || left.next < 0) continue;
    Symbol& right = at(left.next);
    const auto* rule = merges.find(pair_key(left.id, right.id));
    if (rule == nullptr || static_cast<int32_t>(rule->second) != merge.new_id) continue;
    left.id = merge.new_id;
    left.next = right.next;
    right.alive = false;
    if (left.next >= 0) at(left.next).previous = merge.position;
    if (left.previous >= 0) push(left.previous, merge.position);
    if (left.next >= 0) push(merge.position, left.next);
  }
}

Bpe::Bpe(const Json& model) : impl_(std::make_unique<Impl>()) {
  refuse_other_models(model);
  impl_->unk_token = optional_string(model, "unk_token");
  impl_->continuing_subword_prefix =
      optional_string(model, "continuing_subword_prefix").value_or("");
  impl_->end_of_word_suffix = optional_string(model, "end_of_word_suffix").value_or("");
  impl_->fuse_unk = bool_or(model, "fuse_unk", false);
  impl_->ignore_merges = bool_or(model, "ignore_merges", false);
  impl_->read_vocabulary(model.at("vocab"));
  impl_->read_merges(model.at("merges"));
  if (bool_or(model, "byte_fallback", false)) impl_->read_byte_tokens();
}

Bpe::~Bpe() = default;
Bpe::Bpe(Bpe&&) noexcept = default;
Bpe& Bpe::operator=(Bpe&&) noexcept = default;

void Bpe::encode_word(std::string_view word, std::vector<int32_t>& ids) const {
  if (impl_->ignore_merges) {
    if (const auto id = impl_->find(word)) {
      ids.push_back(*id);
      return;
    }
  }
  thread_local std::vector<Symbol> symbols;
  symbols.clear();
  impl_->split_to_symbols(word, symbols);
  impl_->merge_all(symbols);
  for (const Symbol& symbol : symbols)
    if (symbol.alive) ids.push_back(symbol.id);
}

std::optional<int32_t> Bpe::token_to_id(std::string_view token) const { return impl_->find(token); }

const std::string* Bpe::id_to_token(int32_t id) const {
  const auto at = static_cast<size_t>(id);
  return id >= 0 && at < impl_->tokens.size() ? impl_->tokens[at] : nullptr;
}

size_t Bpe::vocab_size() const { return impl_->vocabulary.size(); }

int32_t Bpe::max_id() const { return static_cast<int32_t>(impl_->tokens.size()) - 1; }

}  // namespace lemnos
