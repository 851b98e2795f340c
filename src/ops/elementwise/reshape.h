#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// The same elements, row-major, under another shape: no kernel and no copy. One extent may be -1.
ValueId reshape(Builder& b, ValueId x, Shape shape);

}  // namespace lemnos::ops
