#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// Causal softmax attention inside segments, with grouped key-value heads:
///   o[r, h] = sum over visible k of softmax(scale * q[r, h] . k[k, h / g])[k] v[k, h / g]
/// q [N, heads, d], k [N, kv_heads, d], v [N, kv_heads, dv], g = heads / kv_heads; d, dv <= 256
/// (multiples of 4 are fast). `tiles` is the table [entries, 4] of attention_tiles() (tiles.h): it
/// covers every row once. Key k is visible to query r when it is in r's segment and k <= r; with
/// `window` > 0 also r - window < k. Returns o [N, heads, dv].
///
/// The bits of a segment's rows, forward and backward, are those of the segment alone: they do not
/// depend on N, on its place or on the other segments.
///
/// Also makes stats [N, heads, 2] for backward: the largest scaled score and 1 / (sum of
/// exp(score - largest)).
ValueId attention(Builder& b, ValueId q, ValueId k, ValueId v, ValueId tiles, double scale,
                  int64_t window = 0);

}  // namespace lemnos::ops
