#include "ops/embed/embedding.h"

#include "ops/elementwise/fill.params.h"
#include "ops/embed/embedding.params.h"
#include "ops/embed/embedding_grad.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

// Inputs weight, ids.
std::vector<ValueType> infer(const InferContext& c) {
  const Shape& weight = c[0].shape;
  LEMNOS_CHECK(weight.size() == 2 && c[1].shape.size() == 1 && c[1].dtype == DType::i32);
  return {{{c[1].shape[0], weight[1]}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const HostTensor &weight = c.in(0), &ids = c.in(1);
  const auto width = static_cast<size_t>(weight.shape[1]);
  for (size_t n = 0; n < ids.data.size(); ++n)
    for (size_t i = 0; i < width; ++i)
      c.out(0).data[n * width + i] = weight.data.at(static_cast<size_t>(ids.data[n]) * width + i);
}

std::vector<ValueId> grad(GradContext& c) {
  std::vector<ValueId> grads(2);
  if (!c.needed[0]) return grads;
  Builder& b = c.builder;
  const int64_t rows = b.shape(c.node.inputs[1])[0];
  const ValueId order = b.input_once("embed_order", {rows}, DType::i32);
  const ValueId runs = b.input_once("embed_rows", {rows, 3}, DType::i32);
  const Value& weight = b.graph()[c.node.inputs[0]];
  const ValueId sum = weight.trainable ? c.partial[0] : ValueId{};
  grads[0] = ops::embedding_grad(b, c.grad_outputs[0], order, runs, weight.type.shape[0], sum,
                                 c.node.attrs.get_int("padding_idx"));
  c.included[0] = weight.trainable;
  return grads;
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape &weight = c.shape_in(0), &y = c.shape_out(0);
  kernel_count(weight);
  kernel_count(y);
  const int64_t blocks = (y[1] + 3) / 4, count = y[0] * blocks;
  const EmbeddingParams params{.weight = {},
                               .ids = {},
                               .y = {},
                               .count = kernel_count(count),
                               .width = kernel_count(y[1]),
                               .blocks = kernel_count(blocks)};
  return {kernel(std::string("embedding.") + name_of(c.graph.dtype(c.node.inputs[0])), params,
                 {c.in(0), c.in(1), c.out(0)}, flat_groups(count, 64), {0, width_by_4(y[1])})};
}

// Inputs dy, order, runs, sum.
std::vector<ValueType> infer_grad(const InferContext& c) {
  const Shape& dy = c[0].shape;
  LEMNOS_CHECK(dy.size() == 2);
  LEMNOS_CHECK(c[1] == (ValueType{{dy[0]}, DType::i32}) &&
               c[2] == (ValueType{{dy[0], 3}, DType::i32}));
  const ValueType dweight{{c.attrs.get_int("vocabulary"), dy[1]}, DType::f32};
  if (const ValueType* sum = optional_input(c, 3)) LEMNOS_CHECK(*sum == dweight);
  return {dweight};
}

void reference_grad(const ReferenceContext& c) {
  const HostTensor &dy = c.in(0), &order = c.in(1), &runs = c.in(2);
  HostTensor& sum = c.out(0);
  if (c.inputs[3]) sum.data = c.inputs[3]->data;
  const auto width = static_cast<size_t>(dy.shape[1]);
  const auto padding = static_cast<double>(c.attrs.get_int("padding_idx"));
  for (size_t run = 0; run < order.data.size(); ++run) {
    const double id = runs.data[3 * run];
    if (id < 0 || id == padding) continue;
    double* row = &sum.data.at(static_cast<size_t>(id) * width);
    const auto end = static_cast<size_t>(runs.data[3 * run + 2]);
    for (auto i = static_cast<size_t>(runs.data[3 * run + 1]); i < end; ++i)
      for (size_t column = 0; column < width; ++column)
        row[column] += dy.data[static_cast<size_t>(order.data[i]) * width + column];
  }
}

/// The kernel touches only the rows of ids that occur, so its output must be the sum itself.
void check_in_place(const DispatchContext& c) {
  LEMNOS_CHECK(persistent_roots(c.graph)[c.node.inputs[3].index].valid(),
               "embedding_grad adds to something that is no state");
}

KernelCall clear(const DispatchContext& c) {
  const uint32_t count = kernel_count(c.shape_out(0));
  return kernel("fill", FillParams{.y = {}, .count = count, .value = 0}, {c.out(0)},
                flat_groups((int64_t{count} + 3) / 4, 64));
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  const Shape& dy = c.shape_in(0);
  kernel_count(c.shape_out(0));
  kernel_count(dy);
  check_iterations(c.device.cpu_path ? dy[0] : dy[0] / 8);
  std::vector<KernelCall> calls;
  if (c.node.inputs[3].valid())
    check_in_place(c);
  else
    calls.push_back(clear(c));
  const int64_t columns = c.device.cpu_path ? 32 : 128;
  const int64_t blocks = (dy[1] + columns - 1) / columns;
  const EmbeddingGradParams params{
      .dy = {},
      .order = {},
      .runs = {},
      .sum = {},
      .run_count = kernel_count(dy[0]),
      .width = kernel_count(dy[1]),
      .blocks = kernel_count(blocks),
      .padding_idx = static_cast<int32_t>(c.node.attrs.get_int("padding_idx"))};
  calls.push_back(kernel(path_variant("embedding_grad", c.device), params,
                         {c.in(0), c.in(1), c.in(2), c.out(0)}, flat_groups(dy[0] * blocks, 1),
                         {0, width_by_4(dy[1])}));
  return calls;
}

}  // namespace

extern const OpDef kEmbeddingOp;
extern const OpDef kEmbeddingGradOp;

const OpDef kEmbeddingOp{.name = "embedding",
                         .infer = infer,
                         .reference = reference,
                         .grad = grad,
                         .dispatch = dispatch};
const OpDef kEmbeddingGradOp{.name = "embedding_grad",
                             .infer = infer_grad,
                             .reference = reference_grad,
                             .grad = nullptr,
                             .dispatch = dispatch_grad,
                             .inplace = {{0, 3}}};

namespace ops {

ValueId embedding(Builder& b, ValueId weight, ValueId ids, int64_t padding_idx) {
  return b.emit1(kEmbeddingOp, {weight, ids}, {{"padding_idx", padding_idx}});
}

ValueId embedding_grad(Builder& b, ValueId dy, ValueId order, ValueId runs, int64_t vocabulary,
                       ValueId sum, int64_t padding_idx) {
  return b.emit1(kEmbeddingGradOp, {dy, order, runs, sum},
                 {{"vocabulary", vocabulary}, {"padding_idx", padding_idx}});
}

}  // namespace ops
}  // namespace lemnos
