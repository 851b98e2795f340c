#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

/// y[..., out] = scale * x[..., in] weight[out, in]^T + bias[out] + addend[..., out]
/// (torch.nn.functional.linear). `weight` is f32, f16 or bf16; `bias` and `addend` may be absent.
/// The addend carries LoRA's second product and gradient sums without another pass.
ValueId linear(Builder& b, ValueId x, ValueId weight, ValueId bias = {}, ValueId addend = {},
               double scale = 1.0);

/// dx = scale * dy weight + addend
ValueId linear_grad_input(Builder& b, ValueId dy, ValueId weight, ValueId addend = {},
                          double scale = 1.0);

/// dw[out, in] = scale * dy^T x + addend
ValueId linear_grad_weight(Builder& b, ValueId dy, ValueId x, ValueId addend = {},
                           double scale = 1.0);

/// db[out] = sum of the rows of dy, + addend
ValueId linear_grad_bias(Builder& b, ValueId dy, ValueId addend = {});

}  // namespace lemnos::ops
