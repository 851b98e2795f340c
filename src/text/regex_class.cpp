#include "text/regex_class.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "text/unicode_16.h"

namespace lemnos {
namespace {

/// The property White_Space and its complement. (PCRE2's `\s` also holds U+180E.)
constexpr std::string_view kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f})"
    R"(\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
/// Oniguruma counts these Latin-1 numbers as word characters, but not between brackets.
constexpr std::string_view kWordExtras = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";

struct Property {
  std::string_view name;        ///< lower case, without space, hyphen and underscore
  std::string_view categories;  ///< space separated; of the young characters
  std::string_view pcre2;       ///< empty: the categories themselves
};
/// Not here, since younger versions of Unicode changed them for older characters: Mn, Mc,
/// Alphabetic.
constexpr Property kProperties[] = {
    {"l", "Lu Ll Lt Lm Lo", R"(\p{L})"},
    {"letter", "Lu Ll Lt Lm Lo", R"(\p{L})"},
    {"lc", "Lu Ll Lt", R"(\p{Lu}\p{Ll}\p{Lt})"},
    {"m", "Mn Mc Me", R"(\p{M})"},
    {"mark", "Mn Mc Me", R"(\p{M})"},
    {"n", "Nd Nl No", R"(\p{N})"},
    {"number", "Nd Nl No", R"(\p{N})"},
    {"p", "Pc Pd Ps Pe Pi Pf Po", R"(\p{P})"},
    {"punctuation", "Pc Pd Ps Pe Pi Pf Po", R"(\p{P})"},
    {"s", "Sm Sc Sk So", R"(\p{S})"},
    {"symbol", "Sm Sc Sk So", R"(\p{S})"},
    {"z", "", R"(\p{Z})"},
    {"separator", "", R"(\p{Z})"},
    {"digit", "Nd", R"(\p{Nd})"},
    {"lu", "Lu", ""},
    {"ll", "Ll", ""},
    {"lt", "Lt", ""},
    {"lm", "Lm", ""},
    {"lo", "Lo", ""},
    {"me", "Me", ""},
    {"nd", "Nd", ""},
    {"nl", "Nl", ""},
    {"no", "No", ""},
    {"pc", "Pc", ""},
    {"pd", "Pd", ""},
    {"ps", "Ps", ""},
    {"pe", "Pe", ""},
    {"pi", "Pi", ""},
    {"pf", "Pf", ""},
    {"po", "Po", ""},
    {"sm", "Sm", ""},
    {"sc", "Sc", ""},
    {"sk", "Sk", ""},
    {"so", "So", ""},
    {"zs", "Zs", ""},
    {"zl", "Zl", ""},
    {"zp", "Zp", ""},
    {"cc", "Cc", ""},
    {"cf", "Cf", ""},
    {"co", "Co", ""},
};
constexpr std::string_view kScripts[] = {"Arabic",   "Cyrillic", "Devanagari", "Greek",
                                         "Han",      "Hangul",   "Hebrew",     "Hiragana",
                                         "Katakana", "Latin",    "Thai"};
constexpr std::string_view kAssigned = R"(\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z})";
constexpr std::string_view kAssignedCategories =
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So";

std::string range_item(const UnicodeRange& range) {
  return regex_literal(range.first) + "-" + regex_literal(range.last);
}

std::string young(std::string_view categories, RegexTarget target) {
  std::string out;
  if (!target.name_young_characters) return out;
  for (const UnicodeRange& range : kCategoriesSince14)
    if (categories.find(range.name) != std::string_view::npos) out += range_item(range);
  return out;
}

std::string canonical(std::string_view name) {
  std::string out;
  for (char c : name)
    if (c != ' ' && c != '-' && c != '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string script_items(std::string_view name, RegexTarget target) {
  const auto same = [&](std::string_view script) { return canonical(script) == name; };
  const auto* script = std::ranges::find_if(kScripts, same);
  if (script == std::end(kScripts)) return "";
  std::string out = R"(\p{sc:)" + std::string(*script) + "}";
  for (const UnicodeRange& range : kScriptsSince14)
    if (target.name_young_characters && range.name == *script) out += range_item(range);
  return out;
}

bool depends_on_case(std::string_view categories) {
  return categories == "Lu" || categories == "Ll" || categories == "Lt" || categories == "Lu Ll Lt";
}

std::string property_items(const std::string& name, bool caseless, RegexTarget target) {
  for (const Property& property : kProperties) {
    if (property.name != name) continue;
    if (caseless && depends_on_case(property.categories))
      fail(ErrorKind::unsupported, "a regex with the property \\p{{{}}} under (?i)", name);
    const std::string own = property.pcre2.empty()
                                ? R"(\p{)" + std::string(property.categories) + "}"
                                : std::string(property.pcre2);
    return own + young(property.categories, target);
  }
  if (name == "space" || name == "whitespace") return std::string(kSpace);
  return script_items(name, target);
}

RegexSet complement(std::string items) { return {"", {std::move(items)}}; }

}  // namespace

void RegexSet::add(const RegexSet& other) {
  items += other.items;
  excluded.insert(excluded.end(), other.excluded.begin(), other.excluded.end());
}

std::string RegexSet::atom(bool negated) const {
  if (excluded.empty()) return (negated ? "[^" : "[") + items + "]";
  if (excluded.size() == 1 && items.empty()) return (negated ? "[" : "[^") + excluded[0] + "]";
  std::string parts = items.empty() ? "" : "[" + items + "]";
  for (const std::string& set : excluded) parts += (parts.empty() ? "[^" : "|[^") + set + "]";
  return negated ? R"((?:(?!)" + parts + R"()[\x{0}-\x{10ffff}]))" : "(?:" + parts + ")";
}

RegexSet property_set(std::string_view name, bool negated, bool caseless, RegexTarget target) {
  std::string wanted = canonical(name);
  if (!wanted.empty() && wanted[0] == '^') {
    negated = !negated;
    wanted.erase(0, 1);
  }
  std::string items;
  if (wanted == "c" || wanted == "other" || wanted == "cn" || wanted == "unassigned") {
    negated = !negated;
    items = std::string(kAssigned) + young(kAssignedCategories, target);
    if (wanted == "cn" || wanted == "unassigned")
      items += R"(\p{Cc}\p{Cf}\p{Co}\p{Cs})" + young("Cf", target);
  } else {
    items = property_items(wanted, caseless, target);
  }
  if (items.empty())
    fail(ErrorKind::unsupported, "a regex with the character property \\p{{{}}}", name);
  return negated ? complement(std::move(items)) : RegexSet{std::move(items), {}};
}

bool is_shorthand(char letter) {
  return std::string_view("sSdDwWhH").find(letter) != std::string_view::npos;
}

RegexSet shorthand_set(char letter, bool in_brackets, RegexTarget target) {
  if (letter == 's') return {std::string(kSpace), {}};
  if (letter == 'S') return {std::string(kNotSpace), {}};
  std::string items;
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 'd':
      items = R"(\p{Nd})" + young("Nd", target);
      break;
    case 'w':
      items = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})" + std::string(in_brackets ? "" : kWordExtras) +
              young("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl Pc", target);
      break;
    default:
      items = "0-9a-fA-F";
  }
  const bool negated = std::isupper(static_cast<unsigned char>(letter)) != 0;
  return negated ? complement(std::move(items)) : RegexSet{std::move(items), {}};
}

std::string regex_literal(char32_t c) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  do {
    hex.insert(hex.begin(), kDigits[c & 15]);
    c >>= 4;
  } while (c != 0);
  return "\\x{" + hex + "}";
}

}  // namespace lemnos
