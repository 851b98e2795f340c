#include "text/regex_syntax.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "base/error.h"
#include "text/regex_class.h"
#include "text/utf8.h"

namespace lemnos {
namespace {

constexpr size_t kNone = std::string::npos;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

class Translator {
 public:
  Translator(std::string_view pattern, RegexTarget target) : in_(pattern), target_(target) {}

  std::string run() {
    while (at_ < in_.size()) step();
    if (!groups_.empty()) refuse("an unclosed group");
    return std::move(out_);
  }

 private:
  struct Group {
    size_t start;
    bool caseless;
    bool is_look_around;
  };

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorKind::unsupported, "the regex {} holds {}, which is not supported", in_, what);
  }
  bool next_is(std::string_view text) const { return in_.substr(at_, text.size()) == text; }
  char peek(size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  void atom(std::string_view text) {
    atom_ = out_.size();
    out_ += text;
    previous_literal_ = 0;
  }

  void step();
  void group_open();
  void option_group();
  void group_close();
  void quantifier(std::string text);
  bool interval();
  void escape();
  void literal(char32_t c);
  void bracket();
  RegexSet bracket_operand(bool& negated, bool nested_only);
  std::optional<RegexSet> bracket_set();
  char32_t bracket_literal();
  char32_t escaped_character();
  RegexSet property();
  RegexSet posix_class();
  std::string word_boundary(bool negated) const;

  std::string_view in_;
  RegexTarget target_;
  size_t at_ = 0;
  std::string out_;
  std::vector<Group> groups_;
  size_t atom_ = kNone;  ///< where the last atom starts in out_, if a quantifier may follow
  bool caseless_ = false;
  char32_t previous_literal_ = 0;
};

void Translator::step() {
  const char c = peek();
  switch (c) {
    case '\\':
      return escape();
    case '[':
      return bracket();
    case '(':
      return group_open();
    case ')':
      return group_close();
    case '*':
    case '+':
    case '?':
      ++at_;
      return quantifier(std::string(1, c));
    case '{':
      if (interval()) return;
      break;
    case '|':
    case '^':
    case '$':
      ++at_;
      out_ += c;
      atom_ = kNone;
      previous_literal_ = 0;
      return;
    case '.':
      ++at_;
      return atom(".");
    default:
      break;
  }
  const Utf8Char read = utf8_at(in_, at_);
  at_ += read.size;
  literal(read.value);
}

/// Case folding to more than one character ("ss" and U+00DF) is Oniguruma's alone.
void Translator::literal(char32_t c) {
  const char32_t before = previous_literal_;
  if (caseless_ && c > 0x7F) refuse("a character beyond ASCII under (?i)");
  const auto lower = [](char32_t x) { return x >= 'A' && x <= 'Z' ? x + 32 : x; };
  constexpr std::u32string_view kFolds[] = {U"ss", U"st", U"ff", U"fi", U"fl"};
  for (std::u32string_view fold : kFolds)
    if (caseless_ && lower(before) == fold[0] && lower(c) == fold[1])
      refuse("letters that case folding joins (ss, st, ff, fi, fl) under (?i)");
  const bool plain =
      c > 0x7F || is_ascii_letter(static_cast<char>(c)) || is_ascii_digit(static_cast<char>(c));
  std::string text;
  append_utf8(text, c);
  atom(plain ? text : regex_literal(c));
  previous_literal_ = c;
}

void Translator::group_open() {
  const size_t start = out_.size();
  if (peek(1) == '*') refuse("(*");
  if (peek(1) != '?') {
    out_ += "(";
    at_ += 1;
    groups_.push_back({start, caseless_, false});
  } else {
    constexpr std::string_view kSame[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"};
    const auto* same =
        std::ranges::find_if(kSame, [&](std::string_view text) { return next_is(text); });
    if (same == std::end(kSame)) return option_group();
    out_ += *same;
    at_ += same->size();
    groups_.push_back({start, caseless_, *same != "(?:" && *same != "(?>"});
  }
  atom_ = kNone;
  previous_literal_ = 0;
}

/// `(?i)`, `(?m:...)`, `(?i-m:...)`; Ruby's m is "dot matches newline", which PCRE2 calls s.
void Translator::option_group() {
  const Group group{out_.size(), caseless_, false};
  std::string text = "(?";
  bool on = true;
  for (at_ += 2; peek() != ':' && peek() != ')'; ++at_) {
    const char c = peek();
    if (c != '-' && c != 'i' && c != 'm') refuse(format("the group (?{}", c == '\0' ? ' ' : c));
    text += c == 'm' ? 's' : c;
    if (c == '-') on = false;
    if (c == 'i') caseless_ = on;
  }
  const bool opens_the_pattern = out_.empty() || (!groups_.empty() && out_.back() == '(');
  if (peek() == ')' && !opens_the_pattern) refuse("an option in the middle of a group");
  out_ += text + peek();
  if (peek() == ':') groups_.push_back(group);
  ++at_;
  atom_ = kNone;
  previous_literal_ = 0;
}

void Translator::group_close() {
  if (groups_.empty()) refuse("a closing parenthesis without its opening one");
  const Group group = groups_.back();
  groups_.pop_back();
  out_ += ")";
  ++at_;
  caseless_ = group.caseless;
  atom_ = group.is_look_around ? kNone : group.start;
  previous_literal_ = 0;
}

void Translator::quantifier(std::string text) {
  if (atom_ == kNone) refuse("a quantifier with nothing before it");
  if (peek() == '+' || peek() == '?') {
    text += peek();
    ++at_;
  }
  out_ += text;
  atom_ = kNone;
  previous_literal_ = 0;
}

/// `{n}`, `{n,}`, `{,m}`, `{n,m}`; a `+` behind it repeats the whole in Oniguruma, it is not
/// possessive.
bool Translator::interval() {
  size_t end = at_ + 1;
  while (end < in_.size() && (is_ascii_digit(in_[end]) || in_[end] == ',')) ++end;
  const std::string_view body = in_.substr(at_ + 1, end - at_ - 1);
  const auto commas = std::ranges::count(body, ',');
  if (end >= in_.size() || in_[end] != '}' || body.empty() || body == "," || commas > 1)
    return false;
  if (atom_ == kNone) refuse("an interval with nothing before it");
  at_ = end + 1;
  if (peek() == '?' && commas == 0) refuse("the quantifier {n}?");
  out_ += format("{{{}{}}}", body[0] == ',' ? "0" : "", body);
  if (peek() == '+') {
    out_.insert(atom_, "(?:");
    out_ += ")+";
    ++at_;
  } else if (peek() == '?') {
    out_ += '?';
    ++at_;
  }
  atom_ = kNone;
  previous_literal_ = 0;
  return true;
}

std::string Translator::word_boundary(bool negated) const {
  const std::string word = shorthand_set('w', false, target_).atom(false);
  const std::string edge = "(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + ")";
  return negated ? "(?!" + edge + ")" : "(?:" + edge + ")";
}

void Translator::escape() {
  const char c = peek(1);
  if (is_shorthand(c)) {
    at_ += 2;
    return atom(shorthand_set(c, false, target_).atom(false));
  }
  if (c == 'p' || c == 'P') return atom(property().atom(false));
  if (c == 'b' || c == 'B' || c == 'A' || c == 'z' || c == 'Z') {
    at_ += 2;
    out_ += c == 'b' || c == 'B' ? word_boundary(c == 'B') : format("\\{}", c);
    atom_ = kNone;
    previous_literal_ = 0;
    return;
  }
  if (c == 'R') {
    at_ += 2;
    return atom(R"((?>\x{d}\x{a}|[\x{a}-\x{d}\x{85}\x{2028}\x{2029}]))");
  }
  literal(escaped_character());
}

/// An escape that stands for one character, inside or outside of brackets.
char32_t Translator::escaped_character() {
  constexpr std::string_view kLetters = "ntrfvae";
  constexpr std::string_view kValues = "\n\t\r\f\v\a\x1b";
  const char c = peek(1);
  const size_t known = kLetters.find(c);
  if (c != '\0' && known != kNone) {
    at_ += 2;
    return static_cast<char32_t>(kValues[known]);
  }
  if (c == 'x' || c == 'u') {
    const bool braces = c == 'x' && peek(2) == '{';
    const size_t start = at_ + (braces ? 3 : 2);
    const size_t longest = braces ? 8 : c == 'u' ? 4 : 2;
    size_t end = start;
    while (end < in_.size() && end - start < longest &&
           std::isxdigit(static_cast<unsigned char>(in_[end])))
      ++end;
    const bool closed = braces ? end < in_.size() && in_[end] == '}' : end - start == longest;
    if (!closed || end == start) refuse("a malformed escape for a code point");
    const auto value =
        static_cast<char32_t>(std::stoul(std::string(in_.substr(start, end - start)), nullptr, 16));
    if ((c == 'x' && !braces && value > 0x7F) || value > 0x10FFFF) refuse("a raw byte");
    at_ = end + (braces ? 1 : 0);
    return value;
  }
  if (c == '\0' || is_ascii_letter(c) || is_ascii_digit(c)) refuse(format("the escape \\{}", c));
  const Utf8Char read = utf8_at(in_, at_ + 1);
  at_ += 1 + read.size;
  return read.value;
}

RegexSet Translator::property() {
  const bool negated = peek(1) == 'P';
  at_ += 2;
  if (peek() != '{') {
    const std::string_view name = in_.substr(at_, 1);
    at_ += 1;
    return property_set(name, negated, caseless_, target_);
  }
  const size_t close = in_.find('}', at_);
  if (close == kNone) refuse("an unclosed \\p{");
  const std::string_view name = in_.substr(at_ + 1, close - at_ - 1);
  at_ = close + 1;
  return property_set(name, negated, caseless_, target_);
}

RegexSet Translator::posix_class() {
  constexpr std::string_view kKnown[] = {"digit", "space"};
  const size_t close = in_.find(":]", at_);
  const std::string_view name = close == kNone ? "" : in_.substr(at_ + 2, close - at_ - 2);
  if (std::ranges::find(kKnown, name) == std::end(kKnown))
    refuse("a POSIX class other than digit and space");
  at_ = close + 2;
  return property_set(name, false, caseless_, target_);
}

/// A class: operands joined by `&&`.
void Translator::bracket() {
  const bool negated = peek(1) == '^';
  at_ += negated ? 2 : 1;
  if (peek() == ']') refuse("a bracket right after an opening bracket");
  std::vector<std::string> operands;
  std::string single;
  do {
    if (next_is("&&")) at_ += 2;
    bool operand_negated = false;
    const RegexSet set = bracket_operand(operand_negated, false);
    operands.push_back(set.atom(operand_negated));
    single = set.atom(operand_negated != negated);
  } while (next_is("&&"));
  ++at_;
  if (operands.size() == 1) return atom(single);
  std::string text;
  for (size_t i = 0; i < operands.size(); ++i)
    text += i + 1 < operands.size() ? "(?=" + operands[i] + ")" : operands[i];
  atom(negated ? "(?:(?!" + text + ")[\\x{0}-\\x{10ffff}])" : "(?:" + text + ")");
}

/// Up to `&&` or the closing bracket. A nested class may be negated only when it is the whole
/// operand.
RegexSet Translator::bracket_operand(bool& negated, bool nested_only) {
  RegexSet set;
  size_t parts = 0;
  while (peek() != ']' && !next_is("&&")) {
    if (at_ >= in_.size()) refuse("an unclosed bracket");
    ++parts;
    if (peek() == '[' && peek(1) != ':') {
      bool inner_negated = peek(1) == '^';
      at_ += inner_negated ? 2 : 1;
      bool deeper = false;
      set.add(bracket_operand(deeper, true));
      if (deeper || peek() != ']') refuse("nested classes of this form");
      ++at_;
      negated = inner_negated;
    } else if (const auto named = bracket_set()) {
      set.add(*named);
    } else {
      const char32_t first = bracket_literal();
      set.items += regex_literal(first);
      const bool is_range =
          peek() == '-' && peek(1) != ']' && peek(1) != '[' &&
          !(peek(1) == '\\' && (is_shorthand(peek(2)) || peek(2) == 'p' || peek(2) == 'P'));
      if (!is_range) continue;
      ++at_;
      set.items += '-';
      set.items += regex_literal(bracket_literal());
    }
  }
  if (negated && (parts > 1 || nested_only)) refuse("a negated class among other items of a class");
  if (parts == 0) refuse("an empty class");
  return set;
}

std::optional<RegexSet> Translator::bracket_set() {
  if (next_is("[:")) return posix_class();
  if (peek() != '\\') return std::nullopt;
  if (peek(1) == 'p' || peek(1) == 'P') return property();
  if (!is_shorthand(peek(1))) return std::nullopt;
  at_ += 2;
  return shorthand_set(in_[at_ - 1], true, target_);
}

char32_t Translator::bracket_literal() {
  char32_t value = 0;
  if (peek() == '\\') {
    value = peek(1) == 'b' ? (at_ += 2, char32_t{8}) : escaped_character();
  } else {
    const Utf8Char read = utf8_at(in_, at_);
    at_ += read.size;
    value = read.value;
  }
  if (caseless_ && value > 0x7F) refuse("a character beyond ASCII under (?i)");
  return value;
}

}  // namespace

std::string translate_oniguruma(std::string_view pattern, RegexTarget target) {
  return Translator(pattern, target).run();
}

}  // namespace lemnos
