#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/regex_syntax.h"

namespace lemnos {

/// A set of characters as PCRE2 text: the union of `items`, which go between brackets, and of the
/// complements of each of `excluded`.
struct RegexSet {
  std::string items;
  std::vector<std::string> excluded;

  void add(const RegexSet& other);
  /// One PCRE2 atom that matches one character of the set (or, negated, of its complement).
  std::string atom(bool negated) const;
};

/// The set of `\p{name}`; `caseless` patterns may not name properties that case folding changes.
RegexSet property_set(std::string_view name, bool negated, bool caseless, RegexTarget target);
/// The sets of `\s \S \d \D \w \W \h \H`, by letter. Oniguruma's `\w` is wider outside of brackets.
RegexSet shorthand_set(char letter, bool in_brackets, RegexTarget target);
bool is_shorthand(char letter);
/// `\x{...}`: safe inside and outside of brackets.
std::string regex_literal(char32_t c);

}  // namespace lemnos
