#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// attention() of n new tokens of one sequence, for generation. Writes k_new and v_new
/// [n, kv_heads, d or dv] into the states k_cache and v_cache [capacity, kv_heads, d or dv] after
/// the `cache_length` (i32 [1], read on the device) tokens that are there, and attends from
/// q [n, heads, d] over all of them. Returns o [n, heads, dv]: the bits that attention() gives for
/// these rows of the whole sequence, however it was divided. The caller keeps
/// cache_length + n <= capacity <= kMaxAttentionSegment.
ValueId attention_cached(Builder& b, ValueId q, ValueId k_new, ValueId v_new, ValueId k_cache,
                         ValueId v_cache, ValueId cache_length, double scale, int64_t window = 0);

}  // namespace lemnos::ops
