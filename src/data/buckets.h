#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lemnos::data {

struct BucketOptions {
  /// Each bucket's length is a multiple of this.
  int64_t multiple = 64;
  /// Each bucket costs a compiled program and its own memory plan, so a run has few.
  int64_t most = 4;
};

/// The padded lengths of a run, ascending, the last one holding the longest row. Of all choices of
/// up to `most` lengths the one with the fewest padded tokens (rows that fill up a last batch
/// included), and of those within 5 % of it the one with the fewest buckets.
std::vector<int64_t> choose_buckets(std::span<const int64_t> lengths, int64_t rows_per_batch,
                                    const BucketOptions& options);

/// Index of the smallest bucket that holds `length`; a CHECK that there is one.
size_t bucket_index(std::span<const int64_t> buckets, int64_t length);

}  // namespace lemnos::data
