#pragma once

#include <string>
#include <string_view>

namespace lemnos {

// Character properties as the `tokenizers` crate sees them. Its parts carry tables of different
// Unicode versions, and so do the ICU and PCRE2 of each system: docs/tokenizer.md lists them.

/// Rust's `char::is_whitespace`: the property White_Space.
bool is_whitespace(char32_t c);
/// Rust's `char::is_numeric`: general categories Nd, Nl, No.
bool is_numeric(char32_t c);
/// `\w` of Rust's regex crate: Alphabetic, M, Nd, Pc, Join_Control.
bool is_word(char32_t c);
/// The pre-tokenizer Punctuation: ASCII punctuation, or category P in Unicode 8.
bool is_punctuation(char32_t c);
/// The normalizer StripAccents: category M in Unicode 9.
bool is_combining_mark(char32_t c);

/// Full lower case of each character alone (no final sigma rule), as Rust's `char::to_lowercase`.
std::string to_lowercase(std::string_view text);

enum class NormalizationForm { nfc, nfd, nfkc, nfkd };
/// Normalizes with the data of Unicode 9; younger characters pass as they are.
std::string unicode_normalize(std::string_view text, NormalizationForm form);

}  // namespace lemnos
