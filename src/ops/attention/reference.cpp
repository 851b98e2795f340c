#include "ops/attention/reference.h"

#include <algorithm>
#include <cmath>

namespace lemnos {

double dot(const double* a, const double* b, int64_t size) {
  double sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(double* y, double factor, const double* x, int64_t size) {
  for (int64_t i = 0; i < size; ++i) y[i] += factor * x[i];
}

AttentionRow attention_row(const double* q, const HostTensor& k, int64_t kv_head, int64_t row,
                           int64_t segment_first, double scale, int64_t window) {
  AttentionRow result;
  result.first_key = window > 0 ? std::max(segment_first, row - window + 1) : segment_first;
  for (int64_t key = result.first_key; key <= row; ++key)
    result.p.push_back(scale * dot(q, vector_at(k, key, kv_head), k.shape[2]));
  result.maximum = *std::max_element(result.p.begin(), result.p.end());
  for (double& x : result.p) result.sum += x = std::exp(x - result.maximum);
  for (double& x : result.p) x /= result.sum;
  return result;
}

void attention_output(const AttentionRow& weights, const HostTensor& v, int64_t kv_head, double* o,
                      double* stats) {
  for (size_t i = 0; i < weights.p.size(); ++i)
    add_scaled(o, weights.p[i],
               vector_at(v, weights.first_key + static_cast<int64_t>(i), kv_head), v.shape[2]);
  stats[0] = weights.maximum;
  stats[1] = 1.0 / weights.sum;
}

}  // namespace lemnos
