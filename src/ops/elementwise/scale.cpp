#include "ops/elementwise/scale.h"

#include "ops/elementwise/scale.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) { return {c[0]}; }

float factor_of(const Attrs& attrs) { return static_cast<float>(attrs.get_double("factor")); }

void reference(const ReferenceContext& c) {
  const double factor = factor_of(c.attrs);
  for (size_t i = 0; i < c.out(0).data.size(); ++i) c.out(0).data[i] = factor * c.in(0).data[i];
}

std::vector<ValueId> grad(GradContext& c) {
  return {ops::scale(c.builder, c.grad_outputs[0], c.node.attrs.get_double("factor"))};
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const uint32_t count = kernel_count(c.shape_out(0));
  const ScaleParams params{.x = {}, .y = {}, .count = count, .factor = factor_of(c.node.attrs)};
  return {kernel("scale", params, {c.in(0), c.out(0)}, flat_groups((count + 3) / 4, 64))};
}

}  // namespace

extern const OpDef kScaleOp;

const OpDef kScaleOp{.name = "scale",
                     .infer = infer,
                     .reference = reference,
                     .grad = grad,
                     .dispatch = dispatch,
                     .inplace = {{0, 0}}};

namespace ops {

ValueId scale(Builder& b, ValueId x, double factor) {
  return b.emit1(kScaleOp, {x}, {{"factor", factor}});
}

}  // namespace ops
}  // namespace lemnos
