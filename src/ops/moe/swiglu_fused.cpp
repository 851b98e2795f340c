#include "ops/moe/swiglu_fused.h"

#include <cmath>

#include "base/error.h"
#include "ops/moe/swiglu_fused.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  const Shape& gate_up = c[0].shape;
  LEMNOS_CHECK(gate_up.size() == 2 && gate_up[1] % 2 == 0, "gate_up {}", to_string(gate_up));
  return {{{gate_up[0], gate_up[1] / 2}, DType::f32}};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void reference(const ReferenceContext& c) {
  const auto width = static_cast<size_t>(c.out(0).shape[1]);
  for (size_t i = 0; i < c.out(0).data.size(); ++i) {
    const size_t at = i / width * 2 * width + i % width;
    const double g = c.in(0).data[at], u = c.in(0).data[at + width];
    c.out(0).data[i] = g * sigmoid(g) * u;
  }
}

template <typename Params>
KernelCall call(const char* shader, const Shape& y, std::vector<BufferRef> buffers) {
  Params params{};
  params.rows = kernel_count(y[0]);
  params.width = kernel_count(y[1]);
  kernel_count(2 * element_count(y));
  return kernel(shader, params, std::move(buffers), flat_groups(y[0] * ((y[1] + 3) / 4), 64),
                {0, width_by_4(y[1])});
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  return {call<SwigluFusedParams>("swiglu_fused", c.shape_out(0), {c.in(0), c.out(0)})};
}

// Inputs gate_up, dy.
std::vector<ValueType> infer_grad(const InferContext& c) {
  LEMNOS_CHECK(c[0].shape[0] == c[1].shape[0] && c[0].shape[1] == 2 * c[1].shape[1]);
  return {c[0]};
}

void reference_grad(const ReferenceContext& c) {
  const HostTensor& dy = c.in(1);
  const auto width = static_cast<size_t>(dy.shape[1]);
  for (size_t i = 0; i < dy.data.size(); ++i) {
    const size_t at = i / width * 2 * width + i % width;
    const double g = c.in(0).data[at], u = c.in(0).data[at + width], s = sigmoid(g);
    c.out(0).data[at] = dy.data[i] * u * s * (1 + g * (1 - s));
    c.out(0).data[at + width] = dy.data[i] * g * s;
  }
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  return {call<SwigluFusedGradParams>("swiglu_fused_grad", c.shape_in(1),
                                      {c.in(0), c.in(1), c.out(0)})};
}

}  // namespace

extern const OpDef kSwigluFusedOp;
extern const OpDef kSwigluFusedGradOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  return {c.builder.emit1(kSwigluFusedGradOp, {c.node.inputs[0], c.grad_outputs[0]})};
}

}  // namespace

const OpDef kSwigluFusedOp{.name = "swiglu_fused",
                           .infer = infer,
                           .reference = reference,
                           .grad = grad,
                           .dispatch = dispatch};
const OpDef kSwigluFusedGradOp{.name = "swiglu_fused_grad",
                               .infer = infer_grad,
                               .reference = reference_grad,
                               .grad = nullptr,
                               .dispatch = dispatch_grad,
                               .inplace = {{0, 0}}};

namespace ops {

ValueId swiglu_fused(Builder& b, ValueId gate_up) { return b.emit1(kSwigluFusedOp, {gate_up}); }

}  // namespace ops
}  // namespace lemnos
