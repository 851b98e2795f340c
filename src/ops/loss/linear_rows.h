#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// logits[count,V] = scale * hidden[first .. first+count] weight[V,H]^T + bias[V]: a Linear on some
/// rows of `hidden`[N,H], which are read where they are. `bias` may be absent.
ValueId linear_rows(Builder& b, ValueId hidden, ValueId weight, ValueId bias, int64_t first,
                    int64_t count, double scale = 1.0);

/// dw[V,H] = scale * dlogits[C,V]^T hidden[first .. first+C] + addend
ValueId linear_rows_grad_weight(Builder& b, ValueId dlogits, ValueId hidden, int64_t first,
                                ValueId addend = {}, double scale = 1.0);

}  // namespace lemnos::ops
