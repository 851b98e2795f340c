#pragma once

#include "graph/builder.h"

namespace lemnos {

/// State f32 [2]: the sum of the unscaled token losses since the window began (all micro-batches),
/// as a value and its rounding error. The host reports (v[0] + v[1]) / supervised tokens, in
/// double.
inline constexpr const char* kLossSumName = "loss_sum";

namespace ops {

/// loss_sum + the sum of losses[C], in place. Compensated, in a fixed order.
ValueId add_losses(Builder& b, ValueId loss_sum, ValueId losses);

}  // namespace ops
}  // namespace lemnos
