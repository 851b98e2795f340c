#include "ops/optim/adamw.h"

#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "ops/optim/adamw.params.h"
#include "ops/optim/step_params.h"

namespace lemnos {
namespace {

enum In : size_t { kParam, kGrad, kFirst, kSecond, kClip, kStepValues };

std::vector<ValueType> infer(const InferContext& c) {
  for (const size_t i : {kGrad, kFirst, kSecond})
    LEMNOS_CHECK(c[i] == c[kParam], "adamw {} with {}", to_string(c[kParam].shape),
                 to_string(c[i].shape));
  LEMNOS_CHECK(c[kParam].dtype == DType::f32 && c[kClip].shape == Shape{1});
  LEMNOS_CHECK(c[kStepValues].shape == Shape{kStepFloats});
  return {c[kParam], c[kParam], c[kParam]};
}

void reference(const ReferenceContext& c) {
  const double clip = c.in(kClip).data[0];
  const std::vector<double>& step = c.in(kStepValues).data;
  const double decay = c.attrs.get_bool("decay") ? step[kDecay] : 1.0;
  for (size_t i = 0; i < c.out(0).data.size(); ++i) {
    double &p = c.out(0).data[i], &m = c.out(1).data[i], &v = c.out(2).data[i];
    p = c.in(kParam).data[i];
    m = c.in(kFirst).data[i];
    v = c.in(kSecond).data[i];
    if (clip == 0) continue;
    const double g = c.in(kGrad).data[i] * clip;
    m += step[kOneMinusBeta1] * (g - m);
    v = step[kBeta2] * v + step[kOneMinusBeta2] * g * g;
    p = decay * p - step[kStepSize] * m / (std::sqrt(v) / step[kBias2Sqrt] + step[kEps]);
  }
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const int64_t count = element_count(c.shape_out(0));
  AdamWParams params{};
  params.count = static_cast<uint32_t>(count);
  params.decay = c.node.attrs.get_bool("decay") ? 1 : 0;
  KernelCall call = kernel("adamw", params,
                           {c.in(kParam), c.in(kGrad), c.in(kFirst), c.in(kSecond), c.out(0), c.out(1),
                            c.out(2), c.in(kClip), c.in(kStepValues)},
                           flat_groups((count + 3) / 4, 64));
  call.flat = {offsetof(AdamWParams, count), 256, {4, 4, 4, 4, 4, 4, 4, 0, 0}};
  return {call};
}

}  // namespace

extern const OpDef kAdamWOp;

const OpDef kAdamWOp{.name = "adamw",
                     .infer = infer,
                     .reference = reference,
                     .grad = nullptr,
                     .dispatch = dispatch,
                     .inplace = {{0, 0}, {1, 2}, {2, 3}},
                     .updates_parameters = true};

namespace ops {

AdamWValues adamw(Builder& b, ValueId parameter, ValueId grad, ValueId m, ValueId v,
                  ValueId clip_coef, ValueId step_f32, bool decay) {
  const std::vector<ValueId> out =
      b.emit(kAdamWOp, {parameter, grad, m, v, clip_coef, step_f32}, {{"decay", decay}});
  return {out[0], out[1], out[2]};
}

}  // namespace ops
}  // namespace lemnos
