#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "text/component.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(NormalizationForm form) : form_(form) {}
  void normalize(Piece& piece) const override {
    const std::string start = unicode_normalize(piece.text.substr(0, piece.start_bytes), form_);
    piece.text = unicode_normalize(piece.text, form_);
    const bool start_stays = std::string_view(piece.text).starts_with(start);
    if (start_stays) {
      piece.start_bytes = start.size();
    } else if (!piece.text.empty()) {
      piece.start_bytes = utf8_at(piece.text, 0).size;  // composed with what follows
    }
  }

 private:
  NormalizationForm form_;
};

class Lowercase : public Normalizer {
 public:
  void normalize(Piece& piece) const override {
    piece.start_bytes =
        to_lowercase(std::string_view(piece.text).substr(0, piece.start_bytes)).size();
    piece.text = to_lowercase(piece.text);
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void normalize(Piece& piece) const override {
    size_t end = piece.text.size();
    while (right_ && end > 0) {
      const auto [c, size] = utf8_before(piece.text, end);
      if (!is_whitespace(c)) break;
      end -= size;
    }
    size_t begin = 0;
    while (left_ && begin < end) {
      const auto [c, size] = utf8_at(piece.text, begin);
      if (!is_whitespace(c)) break;
      begin += size;
    }
    piece.text = piece.text.substr(begin, end - begin);
    piece.start_bytes -= std::min(piece.start_bytes, begin);
  }

 private:
  bool left_;
  bool right_;
};

/// Maps or drops single characters.
class CharacterMap : public Normalizer {
 public:
  using Map = std::optional<char32_t> (*)(char32_t);
  explicit CharacterMap(Map map) : map_(map) {}
  void normalize(Piece& piece) const override {
    std::string text;
    size_t start_bytes = 0;
    for (size_t at = 0; at < piece.text.size();) {
      const auto [c, size] = utf8_at(piece.text, at);
      if (const auto mapped = map_(c)) append_utf8(text, *mapped);
      at += size;
      if (at <= piece.start_bytes) start_bytes = text.size();
    }
    piece.text = std::move(text);
    piece.start_bytes = start_bytes;
  }

 private:
  Map map_;
};

std::optional<char32_t> without_accent(char32_t c) {
  if (is_combining_mark(c)) return std::nullopt;
  return c;
}

/// The rules of sentencepiece's "nmt" names.
std::optional<char32_t> nmt(char32_t c) {
  const bool is_dropped = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                          c == 0x8F || c == 0x9F;
  if (is_dropped) return std::nullopt;
  constexpr std::array<char32_t, 10> kSpaces = {9,      0xA,    0xC,    0xD,    0x1680,
                                                0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD};
  const bool is_space =
      std::ranges::find(kSpaces, c) != kSpaces.end() || (c >= 0x200B && c <= 0x200F);
  return is_space ? U' ' : c;
}

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void normalize(Piece& piece) const override { replace_in_piece(piece, pattern_, content_); }

 private:
  Pattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void normalize(Piece& piece) const override { prepend_to_piece(piece, prefix_); }

 private:
  std::string prefix_;
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(const Json& json) {
    for (const Json& item : json.at("normalizers").as_array())
      if (auto part = make_normalizer(item)) parts_.push_back(std::move(part));
  }
  void normalize(Piece& piece) const override {
    for (const auto& part : parts_) part->normalize(piece);
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

}  // namespace

std::unique_ptr<const Normalizer> make_normalizer(const Json& json) {
  if (json.is_null()) return nullptr;
  const std::string& type = json.at("type").as_string();
  if (type == "NFC") return std::make_unique<UnicodeNormalizer>(NormalizationForm::nfc);
  if (type == "NFD") return std::make_unique<UnicodeNormalizer>(NormalizationForm::nfd);
  if (type == "NFKC") return std::make_unique<UnicodeNormalizer>(NormalizationForm::nfkc);
  if (type == "NFKD") return std::make_unique<UnicodeNormalizer>(NormalizationForm::nfkd);
  if (type == "Lowercase") return std::make_unique<Lowercase>();
  if (type == "StripAccents") return std::make_unique<CharacterMap>(without_accent);
  if (type == "Nmt") return std::make_unique<CharacterMap>(nmt);
  if (type == "Strip")
    return std::make_unique<Strip>(json.at("strip_left").as_bool(),
                                   json.at("strip_right").as_bool());
  if (type == "Replace")
    return std::make_unique<Replace>(read_pattern(json.at("pattern")),
                                     json.at("content").as_string());
  if (type == "Prepend") return std::make_unique<Prepend>(json.at("prepend").as_string());
  if (type == "Sequence") return std::make_unique<NormalizerSequence>(json);
  fail(ErrorKind::unsupported, "the normalizer \"{}\" is not supported", type);
}

}  // namespace lemnos
