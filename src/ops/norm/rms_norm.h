#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y = weight * (x * rstd), rstd = 1 / sqrt(mean(x^2) + eps) over the last axis: RMSNorm of Zhang
/// and Sennrich (2019) in the order of Hugging Face's LlamaRMSNorm. `x` is [..., H] with any
/// leading axes (a head norm is [N, heads, hd]), `weight` [H]. Saves rstd, one per row, for the
/// gradient.
ValueId rms_norm(Builder& b, ValueId x, ValueId weight, double eps);

/// dx = rstd * (dy weight - x^ mean(dy weight x^)) + addend, x^ = x * rstd
ValueId rms_norm_grad_input(Builder& b, ValueId dy, ValueId x, ValueId weight, ValueId rstd,
                            ValueId addend = {});

/// dweight = sum over rows of dy x^, + addend
ValueId rms_norm_grad_weight(Builder& b, ValueId dy, ValueId x, ValueId rstd, ValueId addend = {});

}  // namespace lemnos::ops
