#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y = a + b, same shapes (the residual stream).
ValueId add(Builder& b, ValueId x, ValueId y);

/// sum + term, in place when `sum` is a state (gradient sums) or dies here.
ValueId accumulate(Builder& b, ValueId sum, ValueId term);

}  // namespace lemnos::ops
