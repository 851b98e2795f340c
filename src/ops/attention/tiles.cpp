#include "ops/attention/tiles.h"

#include <algorithm>

#include "base/error.h"

namespace lemnos {

std::vector<int32_t> attention_tiles(std::span<const int64_t> segment_lengths, int64_t rows,
                                     int64_t entries) {
  std::vector<int32_t> table;
  int64_t first = 0;
  for (const int64_t length : segment_lengths) {
    if (length > kMaxAttentionSegment)
      fail(ErrorKind::unsupported,
           "a sequence of {} tokens: attention handles at most {}; use shorter sequences", length,
           kMaxAttentionSegment);
    const int64_t end = first + length;
    for (int64_t row = first; row < end; row += kAttentionTile)
      for (const int64_t field : {row, std::min(kAttentionTile, end - row), first, end})
        table.push_back(static_cast<int32_t>(field));
    first = end;
  }
  LEMNOS_CHECK(first == rows, "segments of {} rows in all for {} rows", first, rows);
  const auto size = static_cast<size_t>(4 * entries);
  LEMNOS_CHECK(entries == 0 || table.size() <= size, "{} tiles planned, {} used", entries,
               table.size() / 4);
  table.resize(std::max(table.size(), size), 0);
  return table;
}

int64_t attention_tile_count(int64_t rows, int64_t max_segments) {
  // A segment of n rows has 1 + floor((n - 1) / tile) tiles.
  const int64_t segments = std::min(rows, max_segments);
  return segments + (rows - segments) / kAttentionTile;
}

}  // namespace lemnos
