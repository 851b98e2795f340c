#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y = x / (1 - p) where kept, 0 where dropped (torch.nn.Dropout in training).
///
/// The mask is a pure function of the seed, the step, the micro-batch, the site, the row's key and
/// the column, so that recomputation, resume and any other program draw the same one. `x` is
/// [..., C] with rows = N; for row key k = rows[n] and column c, with Philox4x32-10
/// (base/philox.h):
///
///     key     = (step_i32[kSeedLo], step_i32[kSeedHi])
///     counter = (k, site * 65536 + c / 4, step_i32[kMicro], step_i32[kStep])
///     word    = philox4x32(counter, key)[c % 4]
///     dropped = word < floor(p * 2^32)
///     y       = dropped ? 0 : x * s,  s = 1.0f / float(1 - p)
///
/// All words are the two's complement bits of the i32 inputs. parity/philox.py replays it.
/// `rows` [N] i32 keys the rows (the row's number, or one made of document and position, so that a
/// packed document gets the mask it would get alone); `step_i32` is ops/optim/step_params.h.
/// `site` in [0, 65536) differs between the places of a model; C is at most 262,144; 0 <= p < 1.
/// The gradient is the same op on dy.
ValueId dropout(Builder& b, ValueId x, ValueId rows, ValueId step_i32, double p, int64_t site);

}  // namespace lemnos::ops
