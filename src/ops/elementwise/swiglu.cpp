#include "ops/elementwise/swiglu.h"

#include <cmath>

#include "ops/elementwise/swiglu.params.h"
#include "ops/elementwise/swiglu_grad.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

std::vector<ValueType> infer(const InferContext& c) {
  LEMNOS_CHECK(c[0] == c[1], "swiglu of {} and {}", to_string(c[0].shape), to_string(c[1].shape));
  return {c[0]};
}

void reference(const ReferenceContext& c) {
  const HostTensor &gate = c.in(0), &up = c.in(1);
  for (size_t i = 0; i < gate.data.size(); ++i)
    c.out(0).data[i] = gate.data[i] * sigmoid(gate.data[i]) * up.data[i];
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const uint32_t count = kernel_count(c.shape_out(0));
  const SwigluParams params{.gate = {}, .up = {}, .y = {}, .count = count};
  return {kernel("swiglu", params, {c.in(0), c.in(1), c.out(0)}, flat_groups((count + 3) / 4, 64))};
}

// Inputs dy, gate, up; outputs dgate, dup.
std::vector<ValueType> infer_grad(const InferContext& c) {
  LEMNOS_CHECK(c[0] == c[1] && c[1] == c[2]);
  return {c[1], c[2]};
}

void reference_grad(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &gate = c.in(1), &up = c.in(2);
  for (size_t i = 0; i < dy.data.size(); ++i) {
    const double s = sigmoid(gate.data[i]);
    c.out(0).data[i] = dy.data[i] * up.data[i] * s * (1 + gate.data[i] * (1 - s));
    c.out(1).data[i] = dy.data[i] * gate.data[i] * s;
  }
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  const uint32_t count = kernel_count(c.shape_out(0));
  const SwigluGradParams params{
      .dy = {}, .gate = {}, .up = {}, .dgate = {}, .dup = {}, .count = count};
  return {kernel("swiglu_grad", params, {c.in(0), c.in(1), c.in(2), c.out(0), c.out(1)},
                 flat_groups((count + 3) / 4, 64))};
}

}  // namespace

extern const OpDef kSwigluOp;
extern const OpDef kSwigluGradOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  return c.builder.emit(kSwigluGradOp, {c.grad_outputs[0], c.node.inputs[0], c.node.inputs[1]});
}

}  // namespace

const OpDef kSwigluOp{.name = "swiglu",
                      .infer = infer,
                      .reference = reference,
                      .grad = grad,
                      .dispatch = dispatch,
                      .inplace = {{0, 0}, {0, 1}}};
const OpDef kSwigluGradOp{.name = "swiglu_grad",
                          .infer = infer_grad,
                          .reference = reference_grad,
                          .grad = nullptr,
                          .dispatch = dispatch_grad,
                          .inplace = {{0, 1}, {1, 2}, {0, 0}, {1, 0}}};

namespace ops {

ValueId swiglu(Builder& b, ValueId gate, ValueId up) { return b.emit1(kSwigluOp, {gate, up}); }

}  // namespace ops
}  // namespace lemnos
