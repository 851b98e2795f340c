#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// A tensor whose every element is `value`.
ValueId fill(Builder& b, const Shape& shape, double value);

/// Clears an f32 state in the `zero` section, once per accumulation window.
void zero(Builder& b, ValueId state);

}  // namespace lemnos::ops
