#include "ops/norm/rms_norm.h"

#include <cmath>

#include "ops/norm/rms_norm.params.h"
#include "ops/norm/rms_norm_grad_input.params.h"
#include "ops/norm/rms_norm_grad_weight.params.h"
#include "ops/norm/sum_partials.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

constexpr int64_t kChunkRows = 256;  // rows of one partial sum of the weight's gradient

int64_t chunks_of(int64_t rows) { return (rows + kChunkRows - 1) / kChunkRows; }

/// Lanes that share a row: a function of the width alone, since the order of sums depends on it.
uint32_t row_lanes(int64_t width) {
  uint32_t lanes = 32;
  while (lanes < 256 && lanes * 4 < width) lanes *= 2;
  return lanes;
}

std::array<uint32_t, 3> row_groups(int64_t rows, int64_t width, const DeviceProfile& device) {
  check_iterations(width / 4);
  return flat_groups(rows, device.cpu_path ? 1 : 256 / row_lanes(width));
}

std::array<uint32_t, 3> column_groups(int64_t chunks, int64_t blocks) {
  return flat_groups(chunks * blocks, 1);
}

int64_t column_blocks(int64_t width, const DeviceProfile& device) {
  const int64_t columns = device.cpu_path ? 32 : 128;
  return (width + columns - 1) / columns;
}

// ---- forward

std::vector<ValueType> infer_norm(const InferContext& c) {
  const Shape &x = c[0].shape, &w = c[1].shape;
  LEMNOS_CHECK(w == Shape{width_of(x)}, "rms_norm of {} by {}", to_string(x), to_string(w));
  return {{x, DType::f32}, {{rows_of(x)}, DType::f32}};
}

void reference_norm(const ReferenceContext& c) {
  const HostTensor &x = c.in(0), &w = c.in(1);
  const double eps = c.attrs.get_double("eps");
  const size_t width = w.data.size(), rows = x.data.size() / width;
  for (size_t r = 0; r < rows; ++r) {
    const double* row = &x.data[r * width];
    double squares = 0;
    for (size_t i = 0; i < width; ++i) squares += row[i] * row[i];
    const double rstd = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
    c.out(1).data[r] = rstd;
    for (size_t i = 0; i < width; ++i) c.out(0).data[r * width + i] = w.data[i] * (row[i] * rstd);
  }
}

std::vector<ValueId> grad_norm(GradContext& c) {
  const ValueId dy = c.grad_outputs[0], x = c.node.inputs[0], w = c.node.inputs[1];
  const ValueId rstd = c.node.outputs[1];
  std::vector<ValueId> grads(2);
  if (!dy.valid()) return grads;
  if (c.needed[1]) grads[1] = ops::rms_norm_grad_weight(c.builder, dy, x, rstd, c.partial[1]);
  if (c.needed[0]) grads[0] = ops::rms_norm_grad_input(c.builder, dy, x, w, rstd, c.partial[0]);
  for (size_t i = 0; i < 2; ++i) c.included[i] = c.partial[i].valid();
  return grads;
}

std::vector<KernelCall> dispatch_norm(const DispatchContext& c) {
  const Shape& x = c.shape_in(0);
  const int64_t rows = rows_of(x), width = width_of(x);
  kernel_count(x);
  const RmsNormParams params{.x = {},
                             .weight = {},
                             .y = {},
                             .rstd = {},
                             .rows = kernel_count(rows),
                             .width = kernel_count(width),
                             .eps = static_cast<float>(c.node.attrs.get_double("eps"))};
  return {kernel(path_variant("rms_norm", c.device), params, {c.in(0), c.in(1), c.out(0), c.out(1)},
                 row_groups(rows, width, c.device), {row_lanes(width), width_by_4(width)})};
}

// ---- gradient of the input: inputs dy, x, weight, rstd, addend

std::vector<ValueType> infer_grad_input(const InferContext& c) {
  const Shape& x = c[1].shape;
  LEMNOS_CHECK(c[0].shape == x && c[2].shape == Shape{width_of(x)} &&
               c[3].shape == Shape{rows_of(x)});
  if (const ValueType* addend = optional_input(c, 4)) LEMNOS_CHECK(addend->shape == x);
  return {{x, DType::f32}};
}

void reference_grad_input(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &x = c.in(1), &w = c.in(2), &rstd = c.in(3);
  const size_t width = w.data.size(), rows = rstd.data.size();
  for (size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (size_t i = 0; i < width; ++i)
      sum += dy.data[r * width + i] * w.data[i] * x.data[r * width + i] * rstd.data[r];
    const double mean = sum / static_cast<double>(width);
    for (size_t i = 0; i < width; ++i) {
      const size_t at = r * width + i;
      const double normed = x.data[at] * rstd.data[r];
      c.out(0).data[at] = rstd.data[r] * (dy.data[at] * w.data[i] - normed * mean) +
                          (c.inputs[4] ? c.inputs[4]->data[at] : 0.0);
    }
  }
}

std::vector<KernelCall> dispatch_grad_input(const DispatchContext& c) {
  const Shape& x = c.shape_in(1);
  const int64_t rows = rows_of(x), width = width_of(x);
  kernel_count(x);
  const bool has_addend = c.node.inputs[4].valid();
  const RmsNormGradInputParams params{.dy = {},
                                      .x = {},
                                      .weight = {},
                                      .rstd = {},
                                      .addend = {},
                                      .dx = {},
                                      .rows = kernel_count(rows),
                                      .width = kernel_count(width)};
  return {kernel(path_variant("rms_norm_grad_input", c.device), params,
                 {c.in(0), c.in(1), c.in(2), c.in(3), has_addend ? c.in(4) : BufferRef{}, c.out(0)},
                 row_groups(rows, width, c.device),
                 {row_lanes(width), width_by_4(width), has_addend ? 1u : 0u})};
}

// ---- gradient of the weight: inputs dy, x, rstd, addend; outputs dweight, partial sums

std::vector<ValueType> infer_grad_weight(const InferContext& c) {
  const Shape& x = c[1].shape;
  const int64_t width = width_of(x), rows = rows_of(x);
  LEMNOS_CHECK(c[0].shape == x && c[2].shape == Shape{rows});
  if (const ValueType* addend = optional_input(c, 3)) LEMNOS_CHECK(addend->shape == Shape{width});
  return {{{width}, DType::f32}, {{chunks_of(rows), width}, DType::f32}};
}

void reference_grad_weight(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &x = c.in(1), &rstd = c.in(2);
  HostTensor& dw = c.out(0);
  if (c.inputs[3]) dw.data = c.inputs[3]->data;
  const size_t width = dw.data.size();
  for (size_t at = 0; at < x.data.size(); ++at)
    dw.data[at % width] += dy.data[at] * x.data[at] * rstd.data[at / width];
}

std::vector<KernelCall> dispatch_grad_weight(const DispatchContext& c) {
  const Shape& x = c.shape_in(1);
  const int64_t rows = rows_of(x), width = width_of(x);
  const int64_t blocks = column_blocks(width, c.device);
  kernel_count(x);
  check_iterations(chunks_of(rows));
  const bool has_addend = c.node.inputs[3].valid();
  const RmsNormGradWeightParams partial{.dy = {},
                                        .x = {},
                                        .rstd = {},
                                        .partial = {},
                                        .rows = kernel_count(rows),
                                        .width = kernel_count(width),
                                        .chunk = kChunkRows,
                                        .blocks = kernel_count(blocks)};
  const SumPartialsParams sum{.partial = {},
                              .addend = {},
                              .y = {},
                              .rows = kernel_count(chunks_of(rows)),
                              .width = kernel_count(width)};
  return {kernel(path_variant("rms_norm_grad_weight", c.device), partial,
                 {c.in(0), c.in(1), c.in(2), c.out(1)}, column_groups(chunks_of(rows), blocks),
                 {0, width_by_4(width)}),
          kernel(path_variant("sum_partials", c.device), sum,
                 {c.out(1), has_addend ? c.in(3) : BufferRef{}, c.out(0)}, column_groups(1, blocks),
                 {0, width_by_4(width), has_addend ? 1u : 0u})};
}

}  // namespace

extern const OpDef kRmsNormOp;
extern const OpDef kRmsNormGradInputOp;
extern const OpDef kRmsNormGradWeightOp;

const OpDef kRmsNormOp{.name = "rms_norm",
                       .infer = infer_norm,
                       .reference = reference_norm,
                       .grad = grad_norm,
                       .dispatch = dispatch_norm};
const OpDef kRmsNormGradInputOp{.name = "rms_norm_grad_input",
                                .infer = infer_grad_input,
                                .reference = reference_grad_input,
                                .grad = nullptr,
                                .dispatch = dispatch_grad_input,
                                .inplace = {{0, 4}, {0, 0}}};
const OpDef kRmsNormGradWeightOp{.name = "rms_norm_grad_weight",
                                 .infer = infer_grad_weight,
                                 .reference = reference_grad_weight,
                                 .grad = nullptr,
                                 .dispatch = dispatch_grad_weight,
                                 .inplace = {{0, 3}}};

namespace ops {

ValueId rms_norm(Builder& b, ValueId x, ValueId weight, double eps) {
  return b.emit1(kRmsNormOp, {x, weight}, {{"eps", eps}});
}

ValueId rms_norm_grad_input(Builder& b, ValueId dy, ValueId x, ValueId weight, ValueId rstd,
                            ValueId addend) {
  return b.emit1(kRmsNormGradInputOp, {dy, x, weight, rstd, addend});
}

ValueId rms_norm_grad_weight(Builder& b, ValueId dy, ValueId x, ValueId rstd, ValueId addend) {
  return b.emit1(kRmsNormGradWeightOp, {dy, x, rstd, addend});
}

}  // namespace ops
}  // namespace lemnos
