#pragma once

#include <vector>

#include "graph/builder.h"

namespace lemnos::ops {

struct ClipValues {
  ValueId norm;  // the state "grad_norm" [1]
  ValueId coef;  // the state "clip_coef" [1]
};

/// The 2-norm of all gradients together, and the factor that clips it, as
/// torch.nn.utils.clip_grad_norm_:  coef = min(1, max_norm / (norm + 1e-6)).
/// step_f32[kMaxNorm] <= 0 gives 1. A norm that is not finite is stored as it is, for the host to
/// report, with a coef of 0, for which adamw changes nothing.
/// Sums: chunks of 4096 elements as trees, then their sums compensated; the order depends on the
/// sizes only.
ClipValues clip_gradients(Builder& b, const std::vector<ValueId>& gradients, ValueId step_f32);

}  // namespace lemnos::ops
