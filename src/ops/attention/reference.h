#pragma once

#include <vector>

#include "graph/op.h"

namespace lemnos {

/// Attention in double, a row at a time: what the three attention ops' references share.
struct AttentionRow {
  std::vector<double> p;  // of the keys first_key ..
  int64_t first_key = 0;
  double maximum = 0;     // of the scaled scores
  double sum = 0;         // of their exponentials, the maximum subtracted
};

/// A [rows, heads, depth] tensor's vector.
inline const double* vector_at(const HostTensor& t, int64_t row, int64_t head) {
  return t.data.data() + (row * t.shape[1] + head) * t.shape[2];
}
inline double* vector_at(HostTensor& t, int64_t row, int64_t head) {
  return t.data.data() + (row * t.shape[1] + head) * t.shape[2];
}

double dot(const double* a, const double* b, int64_t size);
/// y += factor * x
void add_scaled(double* y, double factor, const double* x, int64_t size);

/// Weights of the keys that the query at key row `row` sees in its segment. `window` 0: all.
AttentionRow attention_row(const double* q, const HostTensor& k, int64_t kv_head, int64_t row,
                           int64_t segment_first, double scale, int64_t window);

/// Weighted sum of the values, and the saved statistics.
void attention_output(const AttentionRow& weights, const HostTensor& v, int64_t kv_head, double* o,
                      double* stats);

}  // namespace lemnos
