#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lemnos {

/// Rows of one entry of the tile table at most. The attention kernels know it too (tile.glsl).
inline constexpr int64_t kAttentionTile = 64;

/// Tokens of one segment at most: what one dispatch of the CPU kernels can visit.
inline constexpr int64_t kMaxAttentionSegment = 32768;

/// Table [entries, 4] of attention(): {first row, row count, segment's first row, segment's end}.
/// `segment_lengths` (documents and padding tails, in row order) add up to `rows`; tiles start at a
/// segment's first row. Entries without rows fill the table up to `entries` when that is larger.
/// Throws Error{unsupported} for a segment longer than kMaxAttentionSegment.
std::vector<int32_t> attention_tiles(std::span<const int64_t> segment_lengths, int64_t rows,
                                     int64_t entries = 0);

/// Entries that suffice for any division of `rows` rows into at most `max_segments` segments.
int64_t attention_tile_count(int64_t rows, int64_t max_segments);

}  // namespace lemnos
