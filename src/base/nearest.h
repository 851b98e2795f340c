#pragma once

#include <span>
#include <string_view>

namespace lemnos {

/// The candidate that `word` is probably a misspelling of: the fewest insertions, deletions,
/// replacements and swaps of neighbours, at most a quarter of the word's length, or a third when one
/// begins with the other (1 to 3). Empty when none is near; candidates shorter than 3 are never guessed.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lemnos
