#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y[R,I] = silu(g) * u with g | u = the halves of each row of gate_up[R,2I], silu(g) = g / (1 +
/// e^-g) (experts and MLPs whose gate and up projections are one tensor).
ValueId swiglu_fused(Builder& b, ValueId gate_up);

}  // namespace lemnos::ops
