#include <algorithm>
#include <bit>

#include "base/error.h"
#include "ops/moe/moe_gather.h"
#include "ops/moe/moe_rows.h"

namespace lemnos {
namespace {

size_t index(double value) { return static_cast<size_t>(value); }

// Inputs ys, weights, order, rows.
std::vector<ValueType> infer(const InferContext& c) {
  const Shape &ys = c[0].shape, &weights = c[1].shape;
  LEMNOS_CHECK(ys.size() == 2 && ys[0] == element_count(weights) && c[2].shape == Shape{ys[0]} &&
                   c[3].shape == weights,
               "moe_combine of {} with {}", to_string(ys), to_string(weights));
  return {{{weights[0], ys[1]}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const auto width = static_cast<size_t>(c.in(0).shape[1]),
             k = static_cast<size_t>(c.in(1).shape[1]);
  for (size_t i = 0; i < c.out(0).data.size(); ++i)
    for (size_t j = 0; j < k; ++j) {
      const size_t row = index(c.in(3).data[i / width * k + j]), slot = index(c.in(2).data[row]);
      c.out(0).data[i] += c.in(1).data[slot] * c.in(0).data[row * width + i % width];
    }
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  return {moe_rows_call("moe_combine", c.shape_out(0), c.shape_in(1)[1],
                        {c.in(0), c.out(0), c.in(1), c.in(2), c.in(3)})};
}

// Inputs dy, weights, order.
std::vector<ValueType> infer_grad(const InferContext& c) {
  return {{{c[2].shape[0], c[0].shape[1]}, DType::f32}};
}

void reference_grad(const ReferenceContext& c) {
  const auto width = static_cast<size_t>(c.in(0).shape[1]),
             k = static_cast<size_t>(c.in(1).shape[1]);
  for (size_t i = 0; i < c.out(0).data.size(); ++i) {
    const size_t slot = index(c.in(2).data[i / width]);
    c.out(0).data[i] = c.in(1).data[slot] * c.in(0).data[slot / k * width + i % width];
  }
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  return {moe_rows_call("moe_combine_grad", c.shape_out(0), c.shape_in(1)[1],
                        {c.in(0), c.out(0), c.in(1), c.in(2), c.in(2)})};
}

// Inputs ys, dy, order.
std::vector<ValueType> infer_grad_weights(const InferContext& c) {
  const int64_t rows = c[0].shape[0], tokens = c[1].shape[0];
  LEMNOS_CHECK(rows % tokens == 0 && c[0].shape[1] == c[1].shape[1]);
  return {{{tokens, rows / tokens}, DType::f32}};
}

void reference_grad_weights(const ReferenceContext& c) {
  const HostTensor &ys = c.in(0), &dy = c.in(1);
  const auto width = static_cast<size_t>(ys.shape[1]), k = static_cast<size_t>(c.out(0).shape[1]);
  for (size_t i = 0; i < ys.data.size(); ++i) {
    const size_t slot = index(c.in(2).data[i / width]);
    c.out(0).data[slot] += ys.data[i] * dy.data[slot / k * width + i % width];
  }
}

/// Lanes of one row on the GPU path: enough for the width, 32 to 256.
uint32_t row_lanes(int64_t width) {
  const auto vectors = static_cast<uint64_t>((width + 3) / 4);
  return static_cast<uint32_t>(std::clamp<uint64_t>(std::bit_ceil(vectors), 32, 256));
}

std::vector<KernelCall> dispatch_grad_weights(const DispatchContext& c) {
  const Shape& ys = c.shape_in(0);
  const uint32_t lanes = c.device.cpu_path ? 8 : row_lanes(ys[1]);
  const int64_t rows_per_group = c.device.cpu_path ? 1 : 256 / lanes;
  check_iterations(ys[1] / (4 * lanes) + 1);
  MoeWeightGradParams params{};
  params.count = kernel_count(ys[0]);
  params.width = kernel_count(ys[1]);
  params.k = kernel_count(c.shape_out(0)[1]);
  return {kernel(path_variant("moe_combine_grad_weights", c.device), params,
                 {c.in(0), c.in(1), c.in(2), c.out(0)}, flat_groups(ys[0], rows_per_group),
                 {lanes, width_by_4(ys[1])})};
}

}  // namespace

extern const OpDef kMoeCombineOp;
extern const OpDef kMoeCombineGradOp;
extern const OpDef kMoeCombineGradWeightsOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  const std::vector<ValueId>& in = c.node.inputs;
  const ValueId dy = c.grad_outputs[0];
  std::vector<ValueId> grads(in.size());
  if (c.needed[0]) grads[0] = c.builder.emit1(kMoeCombineGradOp, {dy, in[1], in[2]});
  if (c.needed[1]) grads[1] = c.builder.emit1(kMoeCombineGradWeightsOp, {in[0], dy, in[2]});
  return grads;
}

}  // namespace

const OpDef kMoeCombineOp{.name = "moe_combine",
                          .infer = infer,
                          .reference = reference,
                          .grad = grad,
                          .dispatch = dispatch};
const OpDef kMoeCombineGradOp{.name = "moe_combine_grad",
                              .infer = infer_grad,
                              .reference = reference_grad,
                              .grad = nullptr,
                              .dispatch = dispatch_grad};
const OpDef kMoeCombineGradWeightsOp{.name = "moe_combine_grad_weights",
                                     .infer = infer_grad_weights,
                                     .reference = reference_grad_weights,
                                     .grad = nullptr,
                                     .dispatch = dispatch_grad_weights};

namespace ops {

ValueId moe_combine(Builder& b, ValueId ys, ValueId weights, const ExpertRows& experts) {
  return b.emit1(kMoeCombineOp, {ys, weights, experts.order, experts.rows});
}

}  // namespace ops
}  // namespace lemnos
