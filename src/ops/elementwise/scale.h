#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y = factor * x, the factor rounded to f32 first (embedding and residual multipliers).
ValueId scale(Builder& b, ValueId x, double factor);

}  // namespace lemnos::ops
