#pragma once

#include "graph/builder.h"
#include "ops/linear/gemm.h"

namespace lemnos::ops {

/// of_rows[i] = max over j of |x[i,j]|, f32 [rows of x]; of_columns[j] = max over i of |x[i,j]|, f32 [width of x].
struct Largest {
  ValueId of_rows, of_columns;
};
Largest largest(Builder& b, ValueId x);

/// What a product takes its scales from in split precision: GemmCall's largest_a and largest_b. Both invalid when
/// Builder::split_gemm wants it in plain FMA. The choice depends on the weight's dimensions alone (nt, nn: `right`;
/// tn: the result), never on the number of tokens, on which no row's bits may depend.
struct Scales {
  ValueId a, b;
};
Scales split_scales(Builder& b, GemmLayout layout, ValueId left, ValueId right);

}  // namespace lemnos::ops
