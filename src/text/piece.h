#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/regex.h"

namespace lemnos {

/// A part of the text on its way to the model.
struct Piece {
  std::string text;
  int32_t token_id = -1;  ///< of an added token; such a piece is final
  /// Whether it starts where the original text does (Metaspace's "first" asks), and how many of its
  /// leading bytes come from the first original character: a cut behind them starts elsewhere.
  bool at_start = false;
  size_t start_bytes = 0;

  bool is_token() const { return token_id >= 0; }

  Piece slice(size_t begin, size_t end) const {
    Piece part;
    part.text = text.substr(begin, end - begin);
    part.at_start = at_start && (begin < start_bytes || begin == end);
    part.start_bytes = part.at_start ? std::min(start_bytes - begin, end - begin) : 0;
    return part;
  }
};
using Pieces = std::vector<Piece>;

/// What happens to what a pattern matched (the names of `tokenizers`).
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Which parts of the text remain, as byte ranges in order.
std::vector<std::pair<size_t, size_t>> split_ranges(const std::vector<Span>& spans,
                                                    SplitBehavior behavior);

/// Appends the non-empty parts of a piece.
void split_piece(const Piece& piece, const std::vector<Span>& spans, SplitBehavior behavior,
                 Pieces& out);

/// Replaces every match by `content`.
void replace_in_piece(Piece& piece, const Pattern& pattern, std::string_view content);

/// Puts `prefix` before a piece that is not empty.
void prepend_to_piece(Piece& piece, std::string_view prefix);

}  // namespace lemnos
