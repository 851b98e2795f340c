#pragma once

#include "graph/autodiff.h"
#include "graph/builder.h"

namespace lemnos {

/// What some families do to the logits: x = scale * hidden weight^T + bias, then
/// softcap * tanh(x / softcap) when softcap > 0.
struct LogitOptions {
  double scale = 1.0;
  double softcap = 0.0;
  int64_t most_bytes = int64_t{512} << 20;  // of the logits in memory at a time
};

/// Rows of logits that are in memory at a time: as equal chunks as possible, multiples of 128 rows,
/// each at most `most_bytes` (and 128 rows at least). A function of these numbers only.
int64_t loss_chunk_rows(int64_t rows, int64_t vocabulary, int64_t most_bytes);

/// The language model's loss over the head's Linear: logits = hidden[N,H] weight[V,H]^T + bias,
/// cross-entropy with targets[N] (i32, already shifted, negative = ignored), added to the state
/// "loss_sum" (see loss_sum.h). The logits never exist as a whole.
///
/// With an `autodiff` it also adds the gradients of the loss sum times step_f32[kLossScale] to
/// `hidden`, `weight` and `bias` where they are needed: construct the Autodiff over the forward
/// graph first, call this, then run() it. Without one (evaluation) `step_f32` may be an invalid id.
/// `bias` may be absent. Returns the loss sum's newest value.
ValueId linear_cross_entropy(Builder& b, ValueId hidden, ValueId weight, ValueId bias,
                             ValueId targets, ValueId step_f32, Autodiff* autodiff,
                             const LogitOptions& options = {});

}  // namespace lemnos
