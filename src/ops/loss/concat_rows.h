#pragma once

#include <vector>

#include "graph/builder.h"

namespace lemnos::ops {

/// Matrices of equal width, one below the other. All but the last must have a multiple of 4
/// elements.
ValueId concat_rows(Builder& b, std::vector<ValueId> parts);

}  // namespace lemnos::ops
