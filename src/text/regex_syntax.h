#pragma once

#include <string>
#include <string_view>

namespace lemnos {

/// What the matching library at hand knows.
struct RegexTarget {
  /// Its tables are older than Unicode 16 (Oniguruma's in `tokenizers`): name younger characters.
  bool name_young_characters;
};

/// Rewrites a pattern of Oniguruma's default syntax for PCRE2 (flags UTF | UCP | MULTILINE):
/// character classes, properties, `\w`, `\s`, `\b`, `\h`, `\v`, intervals and options mean
/// different things there. Throws Error{unsupported} naming the construct that is not known to mean
/// the same.
std::string translate_oniguruma(std::string_view pattern, RegexTarget target);

}  // namespace lemnos
