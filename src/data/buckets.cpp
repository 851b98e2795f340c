#include "data/buckets.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"

namespace lemnos::data {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

/// Rows counted by their length rounded up, ascending.
struct Histogram {
  std::vector<int64_t> lengths;
  /// rows_below[i]: rows shorter than lengths[i] after rounding.
  std::vector<int64_t> rows_below = {0};
};

Histogram count_lengths(std::span<const int64_t> lengths, int64_t multiple) {
  std::map<int64_t, int64_t> rows;
  for (int64_t length : lengths) ++rows[ceil_div(length, multiple) * multiple];
  Histogram histogram;
  for (const auto& [length, count] : rows) {
    histogram.lengths.push_back(length);
    histogram.rows_below.push_back(histogram.rows_below.back() + count);
  }
  return histogram;
}

/// best[k][i]: fewest padded tokens for the first i lengths in k buckets; from[k][i]: where the
/// last of these buckets begins.
struct Table {
  std::vector<std::vector<int64_t>> best;
  std::vector<std::vector<size_t>> from;
};

Table fill_table(const Histogram& histogram, int64_t rows_per_batch, size_t most) {
  const size_t n = histogram.lengths.size();
  Table table{{most + 1, std::vector<int64_t>(n + 1, kNever)},
              {most + 1, std::vector<size_t>(n + 1, 0)}};
  table.best[0][0] = 0;
  for (size_t k = 1; k <= most; ++k)
    for (size_t end = k; end <= n; ++end)
      for (size_t begin = k - 1; begin < end; ++begin) {
        if (table.best[k - 1][begin] == kNever) continue;
        const int64_t rows = histogram.rows_below[end] - histogram.rows_below[begin];
        const int64_t padded =
            ceil_div(rows, rows_per_batch) * rows_per_batch * histogram.lengths[end - 1];
        const int64_t total = table.best[k - 1][begin] + padded;
        if (total >= table.best[k][end]) continue;
        table.best[k][end] = total;
        table.from[k][end] = begin;
      }
  return table;
}

size_t fewest_buckets_near_best(const Table& table, size_t most, size_t n) {
  int64_t best = kNever;
  for (size_t k = 1; k <= most; ++k) best = std::min(best, table.best[k][n]);
  const int64_t good_enough = best + best / 20;
  size_t k = 1;
  while (table.best[k][n] > good_enough) ++k;
  return k;
}

}  // namespace

std::vector<int64_t> choose_buckets(std::span<const int64_t> lengths, int64_t rows_per_batch,
                                    const BucketOptions& options) {
  LEMNOS_CHECK(!lengths.empty() && rows_per_batch > 0 && options.multiple > 0 && options.most > 0);
  const Histogram histogram = count_lengths(lengths, options.multiple);
  const size_t n = histogram.lengths.size();
  const size_t most = std::min(static_cast<size_t>(options.most), n);
  const Table table = fill_table(histogram, rows_per_batch, most);
  std::vector<int64_t> buckets;
  size_t end = n;
  for (size_t k = fewest_buckets_near_best(table, most, n); k > 0; --k) {
    buckets.push_back(histogram.lengths[end - 1]);
    end = table.from[k][end];
  }
  std::reverse(buckets.begin(), buckets.end());
  return buckets;
}

size_t bucket_index(std::span<const int64_t> buckets, int64_t length) {
  const auto found = std::lower_bound(buckets.begin(), buckets.end(), length);
  LEMNOS_CHECK(found != buckets.end(), "no bucket holds a row of {} tokens", length);
  return static_cast<size_t>(found - buckets.begin());
}

}  // namespace lemnos::data
