#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lemnos {

/// How the next token is chosen; names and order of Transformers' GenerationConfig.
struct SamplingOptions {
  double temperature = 0;  // 0: greedy
  int64_t top_k = 0;       // 0: all
  double top_p = 1.0;      // nucleus
  uint64_t seed = 0;
};

/// The token after position `step`, a pure function of logits, options and step. Greedy takes the
/// lowest id among equals. Logits that are not finite are Error{usage}.
int32_t next_token(std::span<const float> logits, const SamplingOptions& options, int64_t step);

}  // namespace lemnos
