#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// Where the rows of each expert are. A slot is the flat index n*k + j of token n's j-th choice;
/// R = N*k rows, one per slot.
struct ExpertRows {
  ValueId order;    // [R] i32: the slot of each row, experts ascending, slots ascending inside each
  ValueId offsets;  // [E+1] i32: expert e has the rows offsets[e] .. offsets[e+1]
  ValueId rows;     // [N,k] i32: the rows of each token, ascending (so by ascending expert)
};

/// Stable counting sort of experts[N,k] (i32) by expert, in integers, without atomics.
ExpertRows moe_sort(Builder& b, ValueId experts, int64_t expert_count);

}  // namespace lemnos::ops
