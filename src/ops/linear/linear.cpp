#include "ops/linear/linear.h"

#include <algorithm>

#include "base/error.h"
#include "ops/linear/gemm.h"
#include "ops/linear/largest.h"

namespace lemnos {
namespace {

// Tensors are row-major matrices here: every axis but the last is folded into the rows.
int64_t columns(const Shape& shape) { return shape.back(); }
int64_t rows(const Shape& shape) { return element_count(shape) / std::max<int64_t>(1, columns(shape)); }

Shape with_columns(Shape shape, int64_t count) {
  shape.back() = count;
  return shape;
}

ValueType scratch(int64_t bytes) { return {{(bytes + 3) / 4}, DType::f32}; }

const ValueType* optional_input(const InferContext& c, size_t i) {
  return i < c.inputs.size() ? c.inputs[i] : nullptr;
}

void check_addend(const InferContext& c, size_t i, const Shape& shape) {
  if (const ValueType* addend = optional_input(c, i))
    LEMNOS_CHECK(addend->shape == shape, "addend {}", to_string(addend->shape));
}

std::optional<BufferRef> optional_buffer(const DispatchContext& c, size_t i) {
  if (!c.node.inputs[i].valid()) return std::nullopt;
  return c.in(i);
}

/// Inputs `first` and the next are the largest magnitudes of a product in split precision, or absent.
void check_scales(const InferContext& c, size_t first, GemmCall& call) {
  const ValueType *a = optional_input(c, first), *b = optional_input(c, first + 1);
  call.split_precision = a != nullptr;
  LEMNOS_CHECK((a == nullptr) == (b == nullptr));
  if (a) LEMNOS_CHECK(a->shape == Shape{call.m} && b->shape == Shape{call.n});
}

/// Inputs `first` and the next are the factors of a product of low rank that is added, or absent (fuse_linears.h).
void check_low_rank(const InferContext& c, size_t first, int64_t m, const Shape& low_b) {
  const ValueType *a = optional_input(c, first), *b = optional_input(c, first + 1);
  LEMNOS_CHECK((a == nullptr) == (b == nullptr) && (a == nullptr || c.attrs.get_double("scale") == 1));
  if (a) LEMNOS_CHECK(rows(a->shape) == m && b->shape == low_b && b->dtype == DType::f32, "low rank {} by {}",
                      to_string(a->shape), to_string(b->shape));
}

void set_low_rank(const DispatchContext& c, size_t first, GemmCall& call) {
  if (c.node.inputs.size() <= first) return;
  call.low_a = c.in(first);
  call.low_b = c.in(first + 1);
  call.rank = columns(c.shape_in(first));
  call.scale = static_cast<float>(c.node.attrs.get_double("low_rank_scale"));
}

/// Adds scale * low_a low_b, [m, n]; low_b is [n, rank] where `transposed`.
void add_low_rank(const ReferenceContext& c, size_t first, bool transposed) {
  if (c.inputs.size() <= first) return;
  const HostTensor &a = c.in(first), &b = c.in(first + 1);
  HostTensor& y = c.out(0);
  const double scale = c.attrs.get_double("low_rank_scale");
  const auto n = static_cast<size_t>(columns(y.shape)), rank = static_cast<size_t>(columns(a.shape));
  for (size_t i = 0; i < y.data.size(); ++i) {
    double sum = 0;
    for (size_t l = 0; l < rank; ++l)
      sum += a.data[i / n * rank + l] * b.data[transposed ? i % n * rank + l : l * n + i % n];
    y.data[i] += scale * sum;
  }
}

void set_scales(const DispatchContext& c, size_t first, GemmCall& call) {
  call.largest_a = optional_buffer(c, first);
  call.largest_b = optional_buffer(c, first + 1);
  call.split_precision = call.largest_a.has_value();
}

std::vector<ValueType> infer_linear(const InferContext& c) {
  const Shape& x = c[0].shape;
  const Shape& w = c[1].shape;
  LEMNOS_CHECK(w.size() == 2 && columns(x) == w[1], "linear {} by {}", to_string(x), to_string(w));
  const Shape y = with_columns(x, w[0]);
  if (const ValueType* bias = optional_input(c, 2)) LEMNOS_CHECK(bias->shape == Shape{w[0]});
  check_addend(c, 3, y);
  GemmCall call{GemmLayout::nt, rows(x), w[0], w[1]};
  check_scales(c, 4, call);
  if (const ValueType* low = optional_input(c, 6)) check_low_rank(c, 6, rows(x), {w[0], columns(low->shape)});
  return {{y, DType::f32}, scratch(gemm_workspace_bytes(call))};
}

void reference_linear(const ReferenceContext& c) {
  const HostTensor &x = c.in(0), &w = c.in(1);
  const HostTensor *bias = c.inputs[2], *addend = c.inputs[3];
  HostTensor& y = c.out(0);
  const double scale = c.attrs.get_double("scale");
  const auto m = static_cast<size_t>(rows(x.shape)), n = static_cast<size_t>(w.shape[0]),
             k = static_cast<size_t>(w.shape[1]);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < k; ++l) sum += x.data[i * k + l] * w.data[j * k + l];
      y.data[i * n + j] = scale * sum + (bias ? bias->data[j] : 0.0) + (addend ? addend->data[i * n + j] : 0.0);
    }
  add_low_rank(c, 6, true);
}

std::vector<ValueId> grad_linear(GradContext& c) {
  LEMNOS_CHECK(c.node.inputs.size() <= 6, "products of low rank are folded after differentiation");
  const ValueId dy = c.grad_outputs[0], x = c.node.inputs[0], w = c.node.inputs[1];
  const double scale = c.node.attrs.get_double("scale");
  std::vector<ValueId> grads(c.node.inputs.size());
  if (c.needed[0]) grads[0] = ops::linear_grad_input(c.builder, dy, w, c.partial[0], scale);
  if (c.needed[1]) grads[1] = ops::linear_grad_weight(c.builder, dy, x, c.partial[1], scale);
  if (c.needed[2]) grads[2] = ops::linear_grad_bias(c.builder, dy, c.partial[2]);
  for (size_t i = 0; i < 3; ++i) c.included[i] = c.partial[i].valid();
  if (c.needed[3]) grads[3] = dy;
  return grads;
}

std::optional<BufferRef> workspace(const DispatchContext& c, size_t i) {
  if (element_count(c.shape_out(i)) == 0) return std::nullopt;
  return c.out(i);
}

std::vector<KernelCall> dispatch_linear(const DispatchContext& c) {
  const Shape& w = c.shape_in(1);
  GemmCall call{GemmLayout::nt, rows(c.shape_in(0)), w[0], w[1], c.in(0), c.in(1), c.out(0)};
  call.row_stride_a = call.row_stride_b = w[1];
  call.row_stride_c = w[0];
  call.b_dtype = c.graph.dtype(c.node.inputs[1]);
  call.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  call.bias = optional_buffer(c, 2);
  call.addend = optional_buffer(c, 3);
  set_scales(c, 4, call);
  set_low_rank(c, 6, call);
  call.workspace = workspace(c, 1);
  return gemm(call, c.device);
}

double flops_linear(const Graph& g, const Node& node) {
  const Shape& w = g.shape(node.inputs[1]);
  const bool low_rank = node.attrs.has("low_rank_scale");
  const int64_t rank = low_rank ? columns(g.shape(node.inputs[node.inputs.size() - 2])) : 0;
  const int64_t outputs = columns(g.shape(node.outputs[0]));
  return 2.0 * static_cast<double>(rows(g.shape(node.inputs[0]))) * static_cast<double>(w[0] * w[1] + outputs * rank);
}

std::vector<ValueType> infer_grad_input(const InferContext& c) {
  const Shape& dy = c[0].shape;
  const Shape& w = c[1].shape;
  LEMNOS_CHECK(columns(dy) == w[0]);
  const Shape dx = with_columns(dy, w[1]);
  check_addend(c, 2, dx);
  GemmCall call{GemmLayout::nn, rows(dy), w[1], w[0]};
  check_scales(c, 3, call);
  if (const ValueType* low = optional_input(c, 5)) check_low_rank(c, 5, rows(dy), {columns(low->shape), w[1]});
  return {{dx, DType::f32}, scratch(gemm_workspace_bytes(call))};
}

void reference_grad_input(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &w = c.in(1);
  HostTensor& dx = c.out(0);
  const double scale = c.attrs.get_double("scale");
  const auto m = static_cast<size_t>(rows(dy.shape)), o = static_cast<size_t>(w.shape[0]),
             n = static_cast<size_t>(w.shape[1]);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < o; ++l) sum += dy.data[i * o + l] * w.data[l * n + j];
      dx.data[i * n + j] = scale * sum + (c.inputs[2] ? c.inputs[2]->data[i * n + j] : 0.0);
    }
  add_low_rank(c, 5, false);
}

std::vector<KernelCall> dispatch_grad_input(const DispatchContext& c) {
  const Shape& w = c.shape_in(1);
  GemmCall call{GemmLayout::nn, rows(c.shape_in(0)), w[1], w[0], c.in(0), c.in(1), c.out(0)};
  call.row_stride_a = w[0];
  call.row_stride_b = call.row_stride_c = w[1];
  call.b_dtype = c.graph.dtype(c.node.inputs[1]);
  call.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  call.addend = optional_buffer(c, 2);
  set_scales(c, 3, call);
  set_low_rank(c, 5, call);
  call.workspace = workspace(c, 1);
  return gemm(call, c.device);
}

std::vector<ValueType> infer_grad_weight(const InferContext& c) {
  const Shape &dy = c[0].shape, &x = c[1].shape;
  LEMNOS_CHECK(rows(dy) == rows(x));
  const Shape dw{columns(dy), columns(x)};
  check_addend(c, 2, dw);
  GemmCall call{GemmLayout::tn, dw[0], dw[1], rows(x)};
  check_scales(c, 3, call);
  return {{dw, DType::f32}, scratch(gemm_workspace_bytes(call))};
}

void reference_grad_weight(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &x = c.in(1);
  HostTensor& dw = c.out(0);
  const double scale = c.attrs.get_double("scale");
  const auto m = static_cast<size_t>(rows(x.shape)), o = static_cast<size_t>(dw.shape[0]),
             n = static_cast<size_t>(dw.shape[1]);
  for (size_t i = 0; i < o; ++i)
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < m; ++l) sum += dy.data[l * o + i] * x.data[l * n + j];
      dw.data[i * n + j] = scale * sum + (c.inputs[2] ? c.inputs[2]->data[i * n + j] : 0.0);
    }
}

std::vector<KernelCall> dispatch_grad_weight(const DispatchContext& c) {
  const Shape& dw = c.shape_out(0);
  GemmCall call{GemmLayout::tn, dw[0], dw[1], rows(c.shape_in(1)), c.in(0), c.in(1), c.out(0)};
  call.row_stride_a = dw[0];
  call.row_stride_b = call.row_stride_c = dw[1];
  call.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  call.addend = optional_buffer(c, 2);
  set_scales(c, 3, call);
  call.workspace = workspace(c, 1);
  return gemm(call, c.device);
}

double flops_grad_weight(const Graph& g, const Node& node) {
  const Shape& dw = g.shape(node.outputs[0]);
  return 2.0 * static_cast<double>(rows(g.shape(node.inputs[0]))) * static_cast<double>(dw[0] * dw[1]);
}

std::vector<ValueType> infer_grad_bias(const InferContext& c) {
  const Shape& dy = c[0].shape;
  check_addend(c, 1, {columns(dy)});
  return {{{columns(dy)}, DType::f32}, scratch(column_sum_workspace_bytes(rows(dy), columns(dy)))};
}

void reference_grad_bias(const ReferenceContext& c) {
  const HostTensor& dy = c.in(0);
  const auto n = static_cast<size_t>(columns(dy.shape));
  HostTensor& db = c.out(0);
  if (c.inputs[1]) db.data = c.inputs[1]->data;
  for (size_t i = 0; i < dy.data.size(); ++i) db.data[i % n] += dy.data[i];
}

std::vector<KernelCall> dispatch_grad_bias(const DispatchContext& c) {
  const Shape& dy = c.shape_in(0);
  return column_sum(rows(dy), columns(dy), c.in(0), c.out(0), optional_buffer(c, 1), c.out(1), c.device);
}

}  // namespace

extern const OpDef kLinearOp;
extern const OpDef kLinearGradInputOp;
extern const OpDef kLinearGradWeightOp;
extern const OpDef kLinearGradBiasOp;

const OpDef kLinearOp{.name = "linear",
                      .infer = infer_linear,
                      .reference = reference_linear,
                      .grad = grad_linear,
                      .dispatch = dispatch_linear,
                      .inplace = {{0, 3}},
                      .flops = flops_linear};
const OpDef kLinearGradInputOp{.name = "linear_grad_input",
                               .infer = infer_grad_input,
                               .reference = reference_grad_input,
                               .grad = nullptr,
                               .dispatch = dispatch_grad_input,
                               .inplace = {{0, 2}},
                               .flops = flops_linear};
const OpDef kLinearGradWeightOp{.name = "linear_grad_weight",
                                .infer = infer_grad_weight,
                                .reference = reference_grad_weight,
                                .grad = nullptr,
                                .dispatch = dispatch_grad_weight,
                                .inplace = {{0, 2}},
                                .flops = flops_grad_weight};
const OpDef kLinearGradBiasOp{.name = "linear_grad_bias",
                              .infer = infer_grad_bias,
                              .reference = reference_grad_bias,
                              .grad = nullptr,
                              .dispatch = dispatch_grad_bias,
                              .inplace = {{0, 1}}};

namespace ops {

ValueId linear(Builder& b, ValueId x, ValueId weight, ValueId bias, ValueId addend, double scale) {
  const Scales scales = split_scales(b, GemmLayout::nt, x, weight);
  return b.emit1(kLinearOp, {x, weight, bias, addend, scales.a, scales.b}, {{"scale", scale}});
}

ValueId linear_grad_input(Builder& b, ValueId dy, ValueId weight, ValueId addend, double scale) {
  const Scales scales = split_scales(b, GemmLayout::nn, dy, weight);
  return b.emit1(kLinearGradInputOp, {dy, weight, addend, scales.a, scales.b}, {{"scale", scale}});
}

ValueId linear_grad_weight(Builder& b, ValueId dy, ValueId x, ValueId addend, double scale) {
  const Scales scales = split_scales(b, GemmLayout::tn, dy, x);
  return b.emit1(kLinearGradWeightOp, {dy, x, addend, scales.a, scales.b}, {{"scale", scale}});
}

ValueId linear_grad_bias(Builder& b, ValueId dy, ValueId addend) {
  return b.emit1(kLinearGradBiasOp, {dy, addend});
}

}  // namespace ops
}  // namespace lemnos
