#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

struct CrossEntropyValues {
  ValueId dlogits;  // in place of the logits where they die here
  ValueId losses;   // [C], unscaled, 0 for ignored rows
};

/// Cross-entropy and its gradient in one pass, for logits[C,V] of the token rows first .. first+C
/// of `targets`[N] (i32, already shifted; negative = ignored):
///   x = logits, or softcap * tanh(logits / softcap) when softcap > 0
///   losses = log(sum exp(x)) - x[target]
///   dlogits = (softmax(x) - onehot(target)) * step_f32[kLossScale] * dx/dlogits
/// (Transformers' ForCausalLMLoss with num_items_in_batch, and torch.nn.functional.cross_entropy).
CrossEntropyValues cross_entropy(Builder& b, ValueId logits, ValueId targets, ValueId step_f32,
                                 int64_t first, double softcap = 0.0);

/// The losses alone (evaluation).
ValueId cross_entropy_loss(Builder& b, ValueId logits, ValueId targets, int64_t first,
                           double softcap = 0.0);

}  // namespace lemnos::ops
