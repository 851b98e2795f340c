#include "text/piece.h"

namespace lemnos {
namespace {

using Ranges = std::vector<std::pair<size_t, size_t>>;

Ranges contiguous_ranges(const std::vector<Span>& spans) {
  Ranges ranges;
  bool previous_match = false;
  for (const Span& span : spans) {
    if (span.is_match == previous_match && !ranges.empty()) {
      ranges.back().second = span.end;
    } else {
      ranges.emplace_back(span.begin, span.end);
    }
    previous_match = span.is_match;
  }
  return ranges;
}

Ranges merged_with_previous_ranges(const std::vector<Span>& spans) {
  Ranges ranges;
  bool previous_match = false;
  for (const Span& span : spans) {
    if (span.is_match && !previous_match && !ranges.empty()) {
      ranges.back().second = span.end;
    } else {
      ranges.emplace_back(span.begin, span.end);
    }
    previous_match = span.is_match;
  }
  return ranges;
}

Ranges merged_with_next_ranges(const std::vector<Span>& spans) {
  Ranges ranges;
  bool previous_match = false;
  for (size_t i = spans.size(); i-- > 0;) {
    const Span& span = spans[i];
    if (span.is_match && !previous_match && !ranges.empty()) {
      ranges.back().first = span.begin;
    } else {
      ranges.emplace_back(span.begin, span.end);
    }
    previous_match = span.is_match;
  }
  std::ranges::reverse(ranges);
  return ranges;
}

}  // namespace

Ranges split_ranges(const std::vector<Span>& spans, SplitBehavior behavior) {
  if (behavior == SplitBehavior::contiguous) return contiguous_ranges(spans);
  if (behavior == SplitBehavior::merged_with_previous) return merged_with_previous_ranges(spans);
  if (behavior == SplitBehavior::merged_with_next) return merged_with_next_ranges(spans);
  Ranges ranges;
  ranges.reserve(spans.size());
  for (const Span& span : spans)
    if (behavior == SplitBehavior::isolated || !span.is_match)
      ranges.emplace_back(span.begin, span.end);
  return ranges;
}

void split_piece(const Piece& piece, const std::vector<Span>& spans, SplitBehavior behavior,
                 Pieces& out) {
  for (const auto& [begin, end] : split_ranges(spans, behavior))
    if (begin < end) out.push_back(piece.slice(begin, end));
}

void replace_in_piece(Piece& piece, const Pattern& pattern, std::string_view content) {
  std::string text;
  text.reserve(piece.text.size());
  size_t start_bytes = 0;
  for (const Span& span : pattern.find_spans(piece.text)) {
    if (span.is_match) {
      text += content;
      // The new text stands where the last replaced character stood.
      if (span.end == 0 || span.end - 1 < piece.start_bytes) start_bytes += content.size();
    } else {
      text.append(piece.text, span.begin, span.end - span.begin);
      start_bytes +=
          std::min(span.end, piece.start_bytes) - std::min(span.begin, piece.start_bytes);
    }
  }
  piece.text = std::move(text);
  piece.start_bytes = start_bytes;
}

void prepend_to_piece(Piece& piece, std::string_view prefix) {
  if (piece.text.empty()) return;
  piece.text.insert(0, prefix);
  piece.start_bytes += prefix.size();
}

}  // namespace lemnos
