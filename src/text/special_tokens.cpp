#include "text/special_tokens.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"

namespace lemnos {
namespace {

constexpr std::array<std::string_view, 7> kRoles = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

int64_t parse_id(const std::string& text) {
  int64_t id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorKind::corrupt_input,
         "tokenizer_config.json: added_tokens_decoder has the key \"{}\", not an id", text);
  return id;
}

/// A token written as a string, or as an object with flags.
std::optional<AddedToken> read_named(const Json* json) {
  if (json == nullptr || json->is_null()) return std::nullopt;
  if (json->is_object()) return read_added_token(*json);
  AddedToken token;
  token.content = json->as_string();
  token.special = true;
  token.normalized = false;
  return token;
}

class Reader {
 public:
  Reader(const TokenizerSideFiles& files, const std::map<int32_t, AddedToken>& known)
      : config_(files.tokenizer_config), known_(known) {
    if (config_.is_null()) config_ = Json::object();
    if (const Json* decoder = config_.find("added_tokens_decoder")) {
      for (const auto& [id, token] : decoder->as_object())
        declared_[parse_id(id)] = read_added_token(token);
    } else {
      read_legacy(files);
    }
  }

  SpecialTokens run(const Json& padding) {
    collect_named();
    for (const auto& [id, token] : declared_)
      if (!is_known(id, token)) result_.to_add.push_back(token);
    for (const AddedToken& token : named_) add_missing(token);
    for (const AddedToken& token : extra_) add_missing(token);
    for (AddedToken& token : result_.to_add)
      token.special = token.special || is_named(token.content);
    if (!result_.pad && padding.is_object()) result_.pad = padding.at("pad_token").as_string();
    return std::move(result_);
  }

 private:
  void read_legacy(const TokenizerSideFiles& files) {
    if (files.special_tokens_map.is_object())
      for (const auto& [key, value] : files.special_tokens_map.as_object()) config_.set(key, value);
    if (files.added_tokens.is_object())
      for (const auto& [content, id] : files.added_tokens.as_object())
        declare_legacy(content, id.as_integer());
    for (const auto& [id, token] : known_) declared_[id] = token;
  }

  void declare_legacy(const std::string& content, int64_t id) {
    AddedToken token;
    token.content = content;
    for (std::string_view role : kRoles) {
      const auto named = read_named(config_.find(role));
      token.special = token.special || (named && named->content == content);
    }
    token.normalized = !token.special;
    declared_[id] = token;
  }

  /// The flags of a token are those declared for its content, if any are.
  AddedToken with_declared_flags(AddedToken token) const {
    for (const auto& [id, declared] : declared_)
      if (declared.content == token.content) token = declared;
    return token;
  }

  void collect_named() {
    for (std::string_view role : kRoles) {
      auto token = read_named(config_.find(role));
      if (!token) continue;
      named_.push_back(with_declared_flags(*token));
      if (role == "bos_token") result_.bos = token->content;
      if (role == "eos_token") result_.eos = token->content;
      if (role == "pad_token") result_.pad = token->content;
      if (role == "unk_token") result_.unk = token->content;
    }
    for (const auto& [key, value] : config_.as_object()) {
      const bool is_role = std::ranges::find(kRoles, key) != kRoles.end();
      if (key.ends_with("_token") && !is_role && value.is_string())
        named_.push_back(*read_named(&value));
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"})
      collect_extra(config_.find(key));
  }

  /// A list of tokens, or an object of role and token.
  void collect_extra(const Json* extra) {
    if (extra != nullptr && extra->is_array())
      for (const Json& item : extra->as_array()) extra_.push_back(*read_named(&item));
    if (extra != nullptr && extra->is_object())
      for (const auto& [role, item] : extra->as_object()) named_.push_back(*read_named(&item));
  }

  bool is_known(int64_t id, const AddedToken& token) const {
    const auto same_id = id <= INT32_MAX ? known_.find(static_cast<int32_t>(id)) : known_.end();
    if (same_id != known_.end() && same_id->second == token) return true;
    return std::ranges::any_of(known_, [&](const auto& entry) { return entry.second == token; });
  }
  bool is_named(const std::string& content) const {
    return std::ranges::find(named_, content, &AddedToken::content) != named_.end();
  }
  void add_missing(const AddedToken& token) {
    const auto has_content = [&](const auto& entry) {
      return entry.second.content == token.content;
    };
    const bool planned = std::ranges::find(result_.to_add, token.content, &AddedToken::content) !=
                         result_.to_add.end();
    if (!planned && !std::ranges::any_of(known_, has_content)) result_.to_add.push_back(token);
  }

  Json config_;
  const std::map<int32_t, AddedToken>& known_;
  std::map<int64_t, AddedToken> declared_;
  std::vector<AddedToken> named_;
  std::vector<AddedToken> extra_;
  SpecialTokens result_;
};

}  // namespace

SpecialTokens read_special_tokens(const TokenizerSideFiles& files,
                                  const std::map<int32_t, AddedToken>& known, const Json& padding) {
  return Reader(files, known).run(padding);
}

}  // namespace lemnos
