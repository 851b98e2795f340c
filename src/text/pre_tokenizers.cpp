#include <optional>

#include "base/error.h"
#include "text/byte_alphabet.h"
#include "text/component.h"
#include "text/unicode.h"

namespace lemnos {
namespace {

/// GPT-2's words.
constexpr std::string_view kByteLevelRegex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

void invert(std::vector<Span>& spans) {
  for (Span& span : spans) span.is_match = !span.is_match;
}

/// Calls `cut(piece, out)` for each piece that is not an added token yet.
template <typename Cut>
void cut_pieces(Pieces& pieces, const Cut& cut) {
  Pieces out;
  out.reserve(pieces.size());
  for (Piece& piece : pieces) {
    if (piece.is_token()) {
      out.push_back(std::move(piece));
    } else {
      cut(piece, out);
    }
  }
  pieces = std::move(out);
}

/// Split, and the pre-tokenizers that are a Split with a fixed pattern.
class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, SplitBehavior behavior, bool inverted = false)
      : pattern_(std::move(pattern)), behavior_(behavior), inverted_(inverted) {}
  void pre_tokenize(Pieces& pieces) const override {
    cut_pieces(pieces, [this](const Piece& piece, Pieces& out) {
      std::vector<Span> spans = pattern_.find_spans(piece.text);
      if (inverted_) invert(spans);
      split_piece(piece, spans, behavior_, out);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool inverted_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) words_.emplace(Pattern::regex(kByteLevelRegex));
  }
  void pre_tokenize(Pieces& pieces) const override {
    cut_pieces(pieces, [this](Piece& piece, Pieces& out) {
      if (add_prefix_space_ && !piece.text.starts_with(' ')) prepend_to_piece(piece, " ");
      if (words_) {
        split_piece(piece, words_->find_spans(piece.text), SplitBehavior::isolated, out);
      } else if (!piece.text.empty()) {
        out.push_back(std::move(piece));
      }
    });
    for (Piece& piece : pieces)
      if (!piece.is_token()) to_stand_ins(piece);
  }

 private:
  static void to_stand_ins(Piece& piece) {
    std::string text;
    text.reserve(piece.text.size() * 2);
    size_t start_bytes = 0;
    for (size_t i = 0; i < piece.text.size(); ++i) {
      text += byte_stand_in(static_cast<unsigned char>(piece.text[i]));
      if (i + 1 == piece.start_bytes) start_bytes = text.size();
    }
    piece.text = std::move(text);
    piece.start_bytes = start_bytes;
  }

  bool add_prefix_space_;
  std::optional<Pattern> words_;
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)),
        scheme_(scheme),
        split_(split),
        space_(Pattern::literal(" ")),
        mark_(Pattern::literal(replacement_)) {}
  void pre_tokenize(Pieces& pieces) const override {
    cut_pieces(pieces, [this](Piece& piece, Pieces& out) {
      replace_in_piece(piece, space_, replacement_);
      const bool wanted =
          scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && piece.at_start);
      if (wanted && !piece.text.starts_with(replacement_)) prepend_to_piece(piece, replacement_);
      if (split_) {
        split_piece(piece, mark_.find_spans(piece.text), SplitBehavior::merged_with_next, out);
      } else if (!piece.text.empty()) {
        out.push_back(std::move(piece));
      }
    });
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
  Pattern space_;
  Pattern mark_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(const Json& json) {
    for (const Json& item : json.at("pretokenizers").as_array())
      if (auto part = make_pre_tokenizer(item)) parts_.push_back(std::move(part));
  }
  void pre_tokenize(Pieces& pieces) const override {
    for (const auto& part : parts_) part->pre_tokenize(pieces);
  }

 private:
  std::vector<std::unique_ptr<const PreTokenizer>> parts_;
};

SplitBehavior read_behavior(const Json& json) {
  const std::string& name = json.as_string();
  if (name == "Removed") return SplitBehavior::removed;
  if (name == "Isolated") return SplitBehavior::isolated;
  if (name == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (name == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (name == "Contiguous") return SplitBehavior::contiguous;
  fail(ErrorKind::unsupported, "the split behavior \"{}\" is not supported", name);
}

std::unique_ptr<const PreTokenizer> make_digits(const Json& json) {
  const bool individual = json.at("individual_digits").as_bool();
  return std::make_unique<Split>(Pattern::characters(is_numeric),
                                 individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}

/// `\w+|[^\w\s]+` with the classes of Rust's regex crate, which differ from Oniguruma's.
std::unique_ptr<const PreTokenizer> make_whitespace() {
  const auto kind = [](char32_t c) { return is_word(c) ? 1 : is_whitespace(c) ? 0 : 2; };
  return std::make_unique<Split>(Pattern::runs(kind), SplitBehavior::removed, true);
}

std::unique_ptr<const PreTokenizer> make_split(const Json& json) {
  return std::make_unique<Split>(read_pattern(json.at("pattern")),
                                 read_behavior(json.at("behavior")), json.at("invert").as_bool());
}

std::unique_ptr<const PreTokenizer> make_punctuation(const Json& json) {
  const Json* behavior = json.find("behavior");
  return std::make_unique<Split>(Pattern::characters(is_punctuation),
                                 behavior ? read_behavior(*behavior) : SplitBehavior::isolated);
}

}  // namespace

std::unique_ptr<const PreTokenizer> make_pre_tokenizer(const Json& json) {
  if (json.is_null()) return nullptr;
  const std::string& type = json.at("type").as_string();
  if (type == "ByteLevel")
    return std::make_unique<ByteLevel>(json.at("add_prefix_space").as_bool(),
                                       bool_or(json, "use_regex", true));
  if (type == "Split") return make_split(json);
  if (type == "Metaspace")
    return std::make_unique<Metaspace>(read_character(json, "replacement"),
                                       read_prepend_scheme(json), bool_or(json, "split", true));
  if (type == "Digits") return make_digits(json);
  if (type == "Whitespace") return make_whitespace();
  if (type == "WhitespaceSplit")
    return std::make_unique<Split>(Pattern::characters(is_whitespace), SplitBehavior::removed);
  if (type == "Punctuation") return make_punctuation(json);
  if (type == "Sequence") return std::make_unique<PreTokenizerSequence>(json);
  fail(ErrorKind::unsupported, "the pre-tokenizer \"{}\" is not supported", type);
}

}  // namespace lemnos
