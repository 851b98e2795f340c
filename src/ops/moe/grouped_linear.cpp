#include "ops/moe/grouped_linear.h"

#include "base/error.h"
#include "ops/linear/gemm.h"

namespace lemnos {
namespace {

/// One expert's share of the rows.
struct Group {
  size_t first, end;
};

Group group_of(const HostTensor& offsets, size_t expert) {
  return {static_cast<size_t>(offsets.data[expert]), static_cast<size_t>(offsets.data[expert + 1])};
}

GemmCall grouped(GemmLayout layout, int64_t m, int64_t n, int64_t k, const Shape& weight) {
  GemmCall call{layout, m, n, k};
  call.offsets = BufferRef{};  // says that the call is grouped; the buffer is set by dispatch
  call.groups = weight[0];
  call.group_stride = weight[1] * weight[2];
  return call;
}

ValueType scratch(const GemmCall& call) {
  return {{(gemm_workspace_bytes(call) + 3) / 4}, DType::f32};
}

void check(const InferContext& c, size_t columns) {
  const Shape &rows = c[0].shape, &weight = c[1].shape, &offsets = c[2].shape;
  LEMNOS_CHECK(rows.size() == 2 && weight.size() == 3 && rows[1] == weight[columns],
               "grouped linear of {} by {}", to_string(rows), to_string(weight));
  LEMNOS_CHECK(offsets == Shape{weight[0] + 1} && c[2].dtype == DType::i32);
}

// Inputs xs, weight, offsets.
std::vector<ValueType> infer(const InferContext& c) {
  check(c, 2);
  const Shape& weight = c[1].shape;
  const int64_t rows = c[0].shape[0];
  return {{{rows, weight[1]}, DType::f32},
          scratch(grouped(GemmLayout::nt, rows, weight[1], weight[2], weight))};
}

void reference(const ReferenceContext& c) {
  const HostTensor &xs = c.in(0), &weight = c.in(1);
  const auto out = static_cast<size_t>(weight.shape[1]), in = static_cast<size_t>(weight.shape[2]);
  for (size_t e = 0; e < static_cast<size_t>(weight.shape[0]); ++e)
    for (size_t r = group_of(c.in(2), e).first; r < group_of(c.in(2), e).end; ++r)
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i)
          c.out(0).data[r * out + o] += xs.data[r * in + i] * weight.data[(e * out + o) * in + i];
}

/// Completes the call of nt and nn: rows times a weight.
std::vector<KernelCall> rows_by_weight(const DispatchContext& c, GemmLayout layout) {
  const Shape &rows = c.shape_in(0), &weight = c.shape_in(1);
  const int64_t n = c.shape_out(0)[1];
  GemmCall call = grouped(layout, rows[0], n, rows[1], weight);
  call.a = c.in(0);
  call.b = c.in(1);
  call.c = c.out(0);
  call.row_stride_a = rows[1];
  call.row_stride_b = weight[2];
  call.row_stride_c = n;
  call.b_dtype = c.graph.dtype(c.node.inputs[1]);
  call.offsets = c.in(2);
  if (element_count(c.shape_out(1)) > 0) call.workspace = c.out(1);
  return gemm(call, c.device);
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  return rows_by_weight(c, GemmLayout::nt);
}

// Inputs dys, weight, offsets.
std::vector<ValueType> infer_grad_input(const InferContext& c) {
  check(c, 1);
  const Shape& weight = c[1].shape;
  const int64_t rows = c[0].shape[0];
  return {{{rows, weight[2]}, DType::f32},
          scratch(grouped(GemmLayout::nn, rows, weight[2], weight[1], weight))};
}

void reference_grad_input(const ReferenceContext& c) {
  const HostTensor &dys = c.in(0), &weight = c.in(1);
  const auto out = static_cast<size_t>(weight.shape[1]), in = static_cast<size_t>(weight.shape[2]);
  for (size_t e = 0; e < static_cast<size_t>(weight.shape[0]); ++e)
    for (size_t r = group_of(c.in(2), e).first; r < group_of(c.in(2), e).end; ++r)
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i)
          c.out(0).data[r * in + i] += dys.data[r * out + o] * weight.data[(e * out + o) * in + i];
}

std::vector<KernelCall> dispatch_grad_input(const DispatchContext& c) {
  return rows_by_weight(c, GemmLayout::nn);
}

// Inputs dys, xs, offsets, addend.
std::vector<ValueType> infer_grad_weight(const InferContext& c) {
  LEMNOS_CHECK(c[0].shape[0] == c[1].shape[0]);
  const Shape dw{c[2].shape[0] - 1, c[0].shape[1], c[1].shape[1]};
  if (c.inputs[3]) LEMNOS_CHECK(c[3].shape == dw, "addend {}", to_string(c[3].shape));
  return {{dw, DType::f32}, scratch(grouped(GemmLayout::tn, dw[1], dw[2], c[0].shape[0], dw))};
}

void reference_grad_weight(const ReferenceContext& c) {
  const HostTensor &dys = c.in(0), &xs = c.in(1);
  HostTensor& dw = c.out(0);
  const auto out = static_cast<size_t>(dw.shape[1]), in = static_cast<size_t>(dw.shape[2]);
  if (c.inputs[3]) dw.data = c.in(3).data;
  for (size_t e = 0; e < static_cast<size_t>(dw.shape[0]); ++e)
    for (size_t r = group_of(c.in(2), e).first; r < group_of(c.in(2), e).end; ++r)
      for (size_t o = 0; o < out; ++o)
        for (size_t i = 0; i < in; ++i)
          dw.data[(e * out + o) * in + i] += dys.data[r * out + o] * xs.data[r * in + i];
}

std::vector<KernelCall> dispatch_grad_weight(const DispatchContext& c) {
  const Shape& dw = c.shape_out(0);
  GemmCall call = grouped(GemmLayout::tn, dw[1], dw[2], c.shape_in(0)[0], dw);
  call.a = c.in(0);
  call.b = c.in(1);
  call.c = c.out(0);
  call.row_stride_a = dw[1];
  call.row_stride_b = call.row_stride_c = dw[2];
  call.offsets = c.in(2);
  if (c.node.inputs[3].valid()) call.addend = c.in(3);
  if (element_count(c.shape_out(1)) > 0) call.workspace = c.out(1);
  return gemm(call, c.device);
}

double flops_by_weight(const Graph& g, const Node& node) {
  const Shape &rows = g.shape(node.inputs[0]), &weight = g.shape(node.inputs[1]);
  return 2.0 * static_cast<double>(rows[0]) * static_cast<double>(weight[1] * weight[2]);
}

double flops_grad_weight(const Graph& g, const Node& node) {
  const Shape &rows = g.shape(node.inputs[0]), &dw = g.shape(node.outputs[0]);
  return 2.0 * static_cast<double>(rows[0]) * static_cast<double>(dw[1] * dw[2]);
}

}  // namespace

extern const OpDef kGroupedLinearOp;
extern const OpDef kGroupedLinearGradInputOp;
extern const OpDef kGroupedLinearGradWeightOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  const std::vector<ValueId>& in = c.node.inputs;
  const ValueId dys = c.grad_outputs[0];
  std::vector<ValueId> grads(in.size());
  if (c.needed[0]) grads[0] = c.builder.emit1(kGroupedLinearGradInputOp, {dys, in[1], in[2]});
  if (c.needed[1]) {
    grads[1] = c.builder.emit1(kGroupedLinearGradWeightOp, {dys, in[0], in[2], c.partial[1]});
    c.included[1] = c.partial[1].valid();
  }
  return grads;
}

}  // namespace

const OpDef kGroupedLinearOp{.name = "grouped_linear",
                             .infer = infer,
                             .reference = reference,
                             .grad = grad,
                             .dispatch = dispatch,
                             .flops = flops_by_weight};
const OpDef kGroupedLinearGradInputOp{.name = "grouped_linear_grad_input",
                                      .infer = infer_grad_input,
                                      .reference = reference_grad_input,
                                      .grad = nullptr,
                                      .dispatch = dispatch_grad_input,
                                      .flops = flops_by_weight};
const OpDef kGroupedLinearGradWeightOp{.name = "grouped_linear_grad_weight",
                                       .infer = infer_grad_weight,
                                       .reference = reference_grad_weight,
                                       .grad = nullptr,
                                       .dispatch = dispatch_grad_weight,
                                       .inplace = {{0, 3}},
                                       .flops = flops_grad_weight};

namespace ops {

ValueId grouped_linear(Builder& b, ValueId xs, ValueId weight, ValueId offsets) {
  return b.emit1(kGroupedLinearOp, {xs, weight, offsets});
}

}  // namespace ops
}  // namespace lemnos
