#include "ops/loss/linear_rows.h"

#include "base/error.h"
#include "ops/linear/gemm.h"
#include "ops/linear/largest.h"

namespace lemnos {
namespace {

ValueType scratch(const GemmCall& call) {
  return {{(gemm_workspace_bytes(call) + 3) / 4}, DType::f32};
}

std::optional<BufferRef> optional_buffer(const DispatchContext& c, size_t i) {
  if (!c.node.inputs[i].valid()) return std::nullopt;
  return c.in(i);
}

void set_common(const DispatchContext& c, GemmCall& call) {
  call.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  call.largest_b = optional_buffer(c, 4);
  call.split_precision = call.largest_b.has_value();
  if (element_count(c.shape_out(1)) > 0) call.workspace = c.out(1);
}

std::vector<ValueType> infer(const InferContext& c) {
  const Shape &hidden = c[0].shape, &weight = c[1].shape;
  const int64_t first = c.attrs.get_int("first"), count = c.attrs.get_int("count");
  LEMNOS_CHECK(hidden.size() == 2 && weight.size() == 2 && hidden[1] == weight[1], "{} by {}",
               to_string(hidden), to_string(weight));
  LEMNOS_CHECK(first >= 0 && count > 0 && first + count <= hidden[0], "rows {} + {} of {}", first,
               count, hidden[0]);
  if (c.inputs[2]) LEMNOS_CHECK(c[2].shape == Shape{weight[0]});
  GemmCall call{GemmLayout::nt, count, weight[0], weight[1]};
  call.split_precision = c.inputs[3] != nullptr;
  return {{{count, weight[0]}, DType::f32}, scratch(call)};
}

void reference(const ReferenceContext& c) {
  const HostTensor &hidden = c.in(0), &weight = c.in(1);
  HostTensor& y = c.out(0);
  const double scale = c.attrs.get_double("scale");
  const auto first = static_cast<size_t>(c.attrs.get_int("first"));
  const auto m = static_cast<size_t>(y.shape[0]), n = static_cast<size_t>(y.shape[1]),
             k = static_cast<size_t>(hidden.shape[1]);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < k; ++l)
        sum += hidden.data[(first + i) * k + l] * weight.data[j * k + l];
      y.data[i * n + j] = scale * sum + (c.inputs[2] ? c.in(2).data[j] : 0.0);
    }
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape& weight = c.shape_in(1);
  const int64_t offset = c.node.attrs.get_int("first") * weight[1] * 4;
  GemmCall call{GemmLayout::nt,  c.shape_out(0)[0], weight[0], weight[1],
                c.in(0, offset), c.in(1),           c.out(0)};
  call.row_stride_a = call.row_stride_b = weight[1];
  call.row_stride_c = weight[0];
  call.b_dtype = c.graph.dtype(c.node.inputs[1]);
  call.bias = optional_buffer(c, 2);
  if (c.node.inputs[3].valid()) call.largest_a = c.in(3, c.node.attrs.get_int("first") * 4);
  set_common(c, call);
  return gemm(call, c.device);
}

double flops(const Shape& logits, const Shape& hidden) {
  return 2.0 * static_cast<double>(logits[0] * logits[1]) * static_cast<double>(hidden[1]);
}

double flops_forward(const Graph& g, const Node& node) {
  return flops(g.shape(node.outputs[0]), g.shape(node.inputs[0]));
}

double flops_grad_weight(const Graph& g, const Node& node) {
  return flops(g.shape(node.inputs[0]), g.shape(node.inputs[1]));
}

std::vector<ValueType> infer_grad_weight(const InferContext& c) {
  const Shape &dlogits = c[0].shape, &hidden = c[1].shape;
  const int64_t first = c.attrs.get_int("first");
  LEMNOS_CHECK(dlogits.size() == 2 && hidden.size() == 2 && first + dlogits[0] <= hidden[0]);
  const Shape dw{dlogits[1], hidden[1]};
  if (c.inputs[2]) LEMNOS_CHECK(c[2].shape == dw, "addend {}", to_string(c[2].shape));
  GemmCall call{GemmLayout::tn, dw[0], dw[1], dlogits[0]};
  call.split_precision = c.inputs[3] != nullptr;
  return {{dw, DType::f32}, scratch(call)};
}

void reference_grad_weight(const ReferenceContext& c) {
  const HostTensor &dlogits = c.in(0), &hidden = c.in(1);
  HostTensor& dw = c.out(0);
  const double scale = c.attrs.get_double("scale");
  const auto first = static_cast<size_t>(c.attrs.get_int("first"));
  const auto m = static_cast<size_t>(dlogits.shape[0]), o = static_cast<size_t>(dw.shape[0]),
             n = static_cast<size_t>(dw.shape[1]);
  for (size_t i = 0; i < o; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < m; ++l)
        sum += dlogits.data[l * o + i] * hidden.data[(first + l) * n + j];
      dw.data[i * n + j] = scale * sum + (c.inputs[2] ? c.in(2).data[i * n + j] : 0.0);
    }
}

std::vector<KernelCall> dispatch_grad_weight(const DispatchContext& c) {
  const Shape& dw = c.shape_out(0);
  const int64_t offset = c.node.attrs.get_int("first") * dw[1] * 4;
  GemmCall call{GemmLayout::tn, dw[0], dw[1], c.shape_in(0)[0], c.in(0), c.in(1, offset), c.out(0)};
  call.row_stride_a = dw[0];
  call.row_stride_b = call.row_stride_c = dw[1];
  call.addend = optional_buffer(c, 2);
  call.largest_a = optional_buffer(c, 3);
  set_common(c, call);
  return gemm(call, c.device);
}

}  // namespace

extern const OpDef kLinearRowsOp;
extern const OpDef kLinearRowsGradWeightOp;

const OpDef kLinearRowsOp{.name = "linear_rows",
                          .infer = infer,
                          .reference = reference,
                          .grad = nullptr,  // linear_cross_entropy makes the gradients itself
                          .dispatch = dispatch,
                          .flops = flops_forward};
const OpDef kLinearRowsGradWeightOp{.name = "linear_rows_grad_weight",
                                    .infer = infer_grad_weight,
                                    .reference = reference_grad_weight,
                                    .grad = nullptr,
                                    .dispatch = dispatch_grad_weight,
                                    .inplace = {{0, 2}},
                                    .flops = flops_grad_weight};

namespace ops {

ValueId linear_rows(Builder& b, ValueId hidden, ValueId weight, ValueId bias, int64_t first,
                    int64_t count, double scale) {
  const Scales scales = split_scales(b, GemmLayout::nt, hidden, weight);
  return b.emit1(kLinearRowsOp, {hidden, weight, bias, scales.a, scales.b},
                 {{"first", first}, {"count", count}, {"scale", scale}});
}

ValueId linear_rows_grad_weight(Builder& b, ValueId dlogits, ValueId hidden, int64_t first,
                                ValueId addend, double scale) {
  const Scales scales = split_scales(b, GemmLayout::tn, dlogits, hidden);
  return b.emit1(kLinearRowsGradWeightOp, {dlogits, hidden, addend, scales.a, scales.b},
                 {{"first", first}, {"scale", scale}});
}

}  // namespace ops
}  // namespace lemnos
