#include "text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "text/unicode_16.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

UChar32 icu(char32_t c) { return static_cast<UChar32>(c); }

/// Whether the character is of Unicode `version` or older.
bool is_as_old_as(char32_t c, uint8_t version) {
  UVersionInfo age;
  u_charAge(icu(c), age);
  return age[0] > 0 && (age[0] < version || (age[0] == version && age[1] == 0));
}

/// Of the characters that Unicode 16 added and an older ICU does not know.
bool is_new_in_category(char32_t c, std::string_view categories) {
  return std::ranges::any_of(kCategoriesSince14, [&](const UnicodeRange& range) {
    return c >= range.first && c <= range.last && categories.find(range.name) != categories.npos;
  });
}

bool is_unknown_to_icu(char32_t c) { return c > 0x7F && u_charType(icu(c)) == U_UNASSIGNED; }

struct Lowercase {
  char32_t first;
  char32_t last;
  char32_t lower_of_first;
};
/// Capitals younger than Unicode 15; the two case forms of 1C89 and A7CB lie in other blocks.
constexpr Lowercase kYoungCapitals[] = {
    {0x1C89, 0x1C89, 0x1C8A},    {0xA7CB, 0xA7CB, 0x264},  {0xA7CC, 0xA7CC, 0xA7CD},
    {0xA7CE, 0xA7CE, 0xA7CF},    {0xA7D2, 0xA7D2, 0xA7D3}, {0xA7D4, 0xA7D4, 0xA7D5},
    {0xA7DA, 0xA7DA, 0xA7DB},    {0xA7DC, 0xA7DC, 0x19B},  {0x10D50, 0x10D65, 0x10D70},
    {0x16EA0, 0x16EB8, 0x16EBB},
};

char32_t lower(char32_t c) {
  if (!is_unknown_to_icu(c)) return static_cast<char32_t>(u_tolower(icu(c)));
  for (const Lowercase& range : kYoungCapitals)
    if (c >= range.first && c <= range.last) return range.lower_of_first + (c - range.first);
  return c;
}

const icu::Normalizer2& icu_normalizer(NormalizationForm form, UErrorCode& status) {
  switch (form) {
    case NormalizationForm::nfc:
      return *icu::Normalizer2::getNFCInstance(status);
    case NormalizationForm::nfd:
      return *icu::Normalizer2::getNFDInstance(status);
    case NormalizationForm::nfkc:
      return *icu::Normalizer2::getNFKCInstance(status);
    default:
      return *icu::Normalizer2::getNFKDInstance(status);
  }
}

const icu::UnicodeSet& characters_of_unicode_9(UErrorCode& status) {
  static const icu::UnicodeSet set(icu::UnicodeString(u"[:age=9.0:]"), status);
  return set;
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return u_hasBinaryProperty(icu(c), UCHAR_WHITE_SPACE) != 0;
}

bool is_numeric(char32_t c) {
  constexpr UnicodeRange kUnicode17[] = {{0x11DE0, 0x11DE9, "Nd"}, {0x16FF4, 0x16FF6, "Nl"}};
  if (!is_unknown_to_icu(c))
    return (U_GET_GC_MASK(icu(c)) & (U_GC_ND_MASK | U_GC_NL_MASK | U_GC_NO_MASK)) != 0;
  const auto holds = [c](const UnicodeRange& r) { return c >= r.first && c <= r.last; };
  return is_new_in_category(c, "Nd Nl No") || std::ranges::any_of(kUnicode17, holds);
}

bool is_word(char32_t c) {
  if (is_unknown_to_icu(c)) return is_new_in_category(c, "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl Pc");
  return u_hasBinaryProperty(icu(c), UCHAR_ALPHABETIC) != 0 ||
         (U_GET_GC_MASK(icu(c)) & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         c == 0x200C || c == 0x200D;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80)
    return u_ispunct(icu(c)) != 0 ||
           std::string_view("$+<=>^`|~").find(static_cast<char>(c)) != std::string_view::npos;
  if (c == 0x166D || c == 0x111C9) return true;  // of another category since
  return (U_GET_GC_MASK(icu(c)) & U_GC_P_MASK) != 0 && is_as_old_as(c, 8);
}

bool is_combining_mark(char32_t c) {
  if (c < 0x300 || c == 0x111C9) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // of another category since
  return (U_GET_GC_MASK(icu(c)) & U_GC_M_MASK) != 0 && is_as_old_as(c, 9);
}

std::string to_lowercase(std::string_view text) {
  constexpr char32_t kCapitalIWithDot = 0x130;
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const auto [c, size] = utf8_at(text, at);
    if (c == kCapitalIWithDot) {
      out += "i\xCC\x87";
    } else {
      append_utf8(out, lower(c));
    }
    at += size;
  }
  return out;
}

std::string unicode_normalize(std::string_view text, NormalizationForm form) {
  const bool ascii =
      std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return std::string(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2& newest = icu_normalizer(form, status);
  const icu::FilteredNormalizer2 normalizer(newest, characters_of_unicode_9(status));
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  normalizer.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                           sink, nullptr, status);
  LEMNOS_CHECK(U_SUCCESS(status), "ICU cannot normalize: {}", u_errorName(status));
  return out;
}

}  // namespace lemnos
