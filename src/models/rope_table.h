#pragma once

#include <cstdint>
#include <vector>

#include "io/rope_config.h"

namespace lemnos {

struct RopeFrequencies {
  /// One for each rotated pair: rotary dimensions / 2.
  std::vector<float> inv_freq;
  /// Multiplies cos and sin.
  double attention_scaling = 1;
};

/// As Transformers computes them, operation by operation in float32. `head_dim` is the width of a
/// head, of which `partial_rotary_factor` is rotated. `sequence_length` is the largest position + 1
/// of the batch; dynamic and longrope change beyond their limits.
RopeFrequencies rope_frequencies(const RopeConfig& rope, int64_t head_dim, int64_t sequence_length);

/// Row-major [positions, pairs]; both halves of a head use the same row.
struct RopeTable {
  int64_t positions = 0;
  int64_t pairs = 0;
  std::vector<float> cos;
  std::vector<float> sin;
};

/// cos and sin for the positions first, first + 1, ..., first + positions - 1.
RopeTable rope_table(const RopeFrequencies& frequencies, int64_t positions, int64_t first = 0);

}  // namespace lemnos
