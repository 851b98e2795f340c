#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/added_vocabulary.h"
#include "text/tokenizer_side_files.h"

namespace lemnos {

/// Tokens with a role, and tokens that the side files add to tokenizer.json, as Transformers' fast
/// tokenizers find them. `add_bos_token` and `add_eos_token` have no effect beside a
/// tokenizer.json.
struct SpecialTokens {
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<std::string> pad;
  std::optional<std::string> unk;
  std::vector<AddedToken> to_add;
};

/// `known` are the tokens that tokenizer.json adds; `padding` is its field of that name.
SpecialTokens read_special_tokens(const TokenizerSideFiles& files,
                                  const std::map<int32_t, AddedToken>& known, const Json& padding);

}  // namespace lemnos
