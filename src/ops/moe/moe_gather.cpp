#include "ops/moe/moe_gather.h"

#include "base/error.h"
#include "ops/moe/moe_rows.h"

namespace lemnos {
namespace {

size_t index(double value) { return static_cast<size_t>(value); }

// Inputs x, order, rows.
std::vector<ValueType> infer(const InferContext& c) {
  const Shape &x = c[0].shape, &order = c[1].shape, &rows = c[2].shape;
  LEMNOS_CHECK(
      x.size() == 2 && rows.size() == 2 && rows[0] == x[0] && order[0] == element_count(rows),
      "moe rows of {} for {}", to_string(x), to_string(rows));
  return {{{order[0], x[1]}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const auto width = static_cast<size_t>(c.in(0).shape[1]),
             k = static_cast<size_t>(c.in(2).shape[1]);
  for (size_t i = 0; i < c.out(0).data.size(); ++i)
    c.out(0).data[i] = c.in(0).data[index(c.in(1).data[i / width]) / k * width + i % width];
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  return {moe_rows_call("moe_gather", c.shape_out(0), c.shape_in(2)[1],
                        {c.in(0), c.out(0), c.in(0), c.in(1), c.in(2)})};
}

// Inputs dxs, rows.
std::vector<ValueType> infer_grad(const InferContext& c) {
  LEMNOS_CHECK(c[0].shape[0] == element_count(c[1].shape));
  return {{{c[1].shape[0], c[0].shape[1]}, DType::f32}};
}

void reference_grad(const ReferenceContext& c) {
  const auto width = static_cast<size_t>(c.in(0).shape[1]),
             k = static_cast<size_t>(c.in(1).shape[1]);
  for (size_t i = 0; i < c.out(0).data.size(); ++i)
    for (size_t j = 0; j < k; ++j)
      c.out(0).data[i] += c.in(0).data[index(c.in(1).data[i / width * k + j]) * width + i % width];
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  return {moe_rows_call("moe_gather_grad", c.shape_out(0), c.shape_in(1)[1],
                        {c.in(0), c.out(0), c.in(0), c.in(1), c.in(1)})};
}

}  // namespace

extern const OpDef kMoeGatherOp;
extern const OpDef kMoeGatherGradOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  return {c.builder.emit1(kMoeGatherGradOp, {c.grad_outputs[0], c.node.inputs[2]}), {}, {}};
}

}  // namespace

const OpDef kMoeGatherOp{.name = "moe_gather",
                         .infer = infer,
                         .reference = reference,
                         .grad = grad,
                         .dispatch = dispatch};
const OpDef kMoeGatherGradOp{.name = "moe_gather_grad",
                             .infer = infer_grad,
                             .reference = reference_grad,
                             .grad = nullptr,
                             .dispatch = dispatch_grad};

namespace ops {

ValueId moe_gather(Builder& b, ValueId x, const ExpertRows& experts) {
  return b.emit1(kMoeGatherOp, {x, experts.order, experts.rows});
}

}  // namespace ops
}  // namespace lemnos
