#pragma once

#include <functional>
#include <vector>

#include "graph/builder.h"

namespace lemnos::ops {

struct AdamWValues {
  ValueId parameter, m, v;
};

/// One step of torch.optim.AdamW (torch/optim/adam.py, _single_tensor_adam, decoupled decay), in
/// place and with its order of roundings:
///   g = clip_coef * grad;  p *= 1 - lr*wd;  m += (1-b1) * (g - m);  v = b2*v + ((1-b2)*g)*g
///   p += (-(lr / (1-b1^t)) * m) / (sqrt(v) / sqrt(1-b2^t) + eps)
/// The rates come from `step_f32` (step_params.h). `decay` false leaves out the decay. A clip_coef
/// of zero (gradients that are not finite, see clip_gradients) leaves everything as it is.
AdamWValues adamw(Builder& b, ValueId parameter, ValueId grad, ValueId m, ValueId v,
                  ValueId clip_coef, ValueId step_f32, bool decay);

}  // namespace lemnos::ops

namespace lemnos {

/// Appends the window's end to section `update`: the norm and clip coefficient of all gradients,
/// then AdamW on each parameter. Moments are the states "adam/m/<parameter>" and
/// "adam/v/<parameter>", and step_f32 the input of that name. `decays` says which parameters weight
/// decay applies to.
void adamw_step(Builder& b, const std::vector<ValueId>& parameters,
                const std::function<bool(const Value&)>& decays);

/// The trainable parameters that a gradient reached: those with a state "grad/<name>". The others
/// are left alone, as torch leaves parameters whose grad is None.
std::vector<ValueId> parameters_with_gradients(const Graph& graph);

/// Section `zero`: clears every gradient and the loss sum, at the start of a window.
void zero_gradients(Builder& b);

}  // namespace lemnos
