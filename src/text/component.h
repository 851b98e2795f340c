#pragma once

#include <memory>
#include <string_view>

#include "base/json.h"
#include "text/piece.h"

namespace lemnos {

/// Changes the text of a piece before it is cut.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void normalize(Piece& piece) const = 0;
};

/// Cuts pieces into the words that the model sees.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void pre_tokenize(Pieces& pieces) const = 0;
};

/// Turns the texts of tokens into the texts whose concatenation is the output.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::vector<std::string> decode(std::vector<std::string> tokens) const = 0;
};

// Each reads the component of that name of tokenizer.json; null gives null. A type that is not
// supported is refused by its name.
std::unique_ptr<const Normalizer> make_normalizer(const Json& json);
std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json);
std::unique_ptr<const Decoder> make_decoder(const Json& json);

/// `{"String": ...}` or `{"Regex": ...}` of Split and Replace.
Pattern read_pattern(const Json& json);
/// A field that may be absent.
bool bool_or(const Json& json, std::string_view key, bool fallback);
/// Metaspace and Strip hold one character.
std::string read_character(const Json& json, std::string_view key);

/// Metaspace's prepend_scheme, or add_prefix_space of older files; shared by cutting and decoding.
enum class PrependScheme { first, always, never };
PrependScheme read_prepend_scheme(const Json& json);

}  // namespace lemnos
