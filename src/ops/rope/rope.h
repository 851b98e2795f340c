#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// Rotary position embedding (Su et al. 2021) in Hugging Face's split form (`rotate_half`), on the
/// first r = 2 C dimensions of each head; the rest passes through. For i < C, row n, t =
/// positions[n]:
///   y[i]     = x[i] cos[t,i] - x[i+C] sin[t,i]
///   y[i + C] = x[i+C] cos[t,i] + x[i] sin[t,i]
/// `x` is [N, heads, hd], `positions` [N] i32 with values below L, `cos` and `sin` [L, C] (made on
/// the host; an attention scaling is already in them). `inverse` negates sin, which is the
/// gradient.
ValueId rope(Builder& b, ValueId x, ValueId positions, ValueId cos, ValueId sin,
             bool inverse = false);

}  // namespace lemnos::ops
