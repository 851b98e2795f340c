#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y = silu(gate) * up, silu(g) = g / (1 + e^-g): SwiGLU (Shazeer 2020), the `act_fn(gate) * up` of
/// Hugging Face's LlamaMLP. Same shapes.
ValueId swiglu(Builder& b, ValueId gate, ValueId up);

}  // namespace lemnos::ops
