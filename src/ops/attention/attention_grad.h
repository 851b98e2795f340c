#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

struct AttentionInputs {
  ValueId q, k, v, tiles;
};
struct AttentionOutputs {
  ValueId o, stats;
};
struct AttentionGrads {
  ValueId q, k, v;
};

/// The gradients of attention()'s q, k and v from that of its o. Scores are recomputed from `stats`;
/// memory is O(N).
AttentionGrads attention_grad(Builder& b, const AttentionInputs& in, const AttentionOutputs& out,
                              ValueId grad_o, double scale, int64_t window);

}  // namespace lemnos::ops
