#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// One Linear per expert: rows offsets[e] .. offsets[e+1] of xs[R,in] give those rows of
///   ys[R,out] = xs weight[e]^T
/// with weight[E,out,in] (f32, f16 or bf16) and offsets[E+1] (i32, see moe_sort), which must end at
/// R. The weight gradient of an expert without rows is exactly zero (plus what was summed before).
ValueId grouped_linear(Builder& b, ValueId xs, ValueId weight, ValueId offsets);

}  // namespace lemnos::ops
