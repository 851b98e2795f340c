#include "generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"

namespace lemnos {
namespace {

struct Candidate {
  int32_t id;
  double weight;
};

/// The k largest by logit, largest first, as unnormalised probabilities.
std::vector<Candidate> largest(std::span<const float> logits, const SamplingOptions& options) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const size_t keep = options.top_k > 0 ? std::min(static_cast<size_t>(options.top_k), ids.size()) : ids.size();
  const auto before = [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)], y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  };
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(keep), ids.end(), before);
  ids.resize(keep);
  std::vector<Candidate> kept;
  const double top = logits[static_cast<size_t>(ids.front())];
  for (const int32_t id : ids)
    kept.push_back({id, std::exp((static_cast<double>(logits[static_cast<size_t>(id)]) - top) / options.temperature)});
  return kept;
}

/// The shortest head whose probability reaches top_p.
void keep_nucleus(std::vector<Candidate>& candidates, double top_p) {
  double total = 0, so_far = 0;
  for (const Candidate& c : candidates) total += c.weight;
  for (size_t i = 0; i < candidates.size(); ++i) {
    so_far += candidates[i].weight;
    if (so_far >= top_p * total) {
      candidates.resize(i + 1);
      return;
    }
  }
}

double uniform(uint64_t seed, int64_t step) {
  const auto words = philox4x32({static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32), 0x67656eu, 0},
                                {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return (static_cast<double>(words[0]) + 0.5) / 4294967296.0;
}

}  // namespace

int32_t next_token(std::span<const float> logits, const SamplingOptions& options, int64_t step) {
  for (const float x : logits)
    if (!std::isfinite(x))
      fail(ErrorKind::corrupt_input, "the model's logits are not finite; its weights, or the adapter's, are damaged");
  if (options.temperature <= 0)
    return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  std::vector<Candidate> candidates = largest(logits, options);
  keep_nucleus(candidates, options.top_p);
  double total = 0;
  for (const Candidate& c : candidates) total += c.weight;
  double point = uniform(options.seed, step) * total;
  for (const Candidate& c : candidates) {
    point -= c.weight;
    if (point <= 0) return c.id;
  }
  return candidates.back().id;
}

}  // namespace lemnos
