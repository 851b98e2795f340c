#include "ops/rope/rope.h"

#include "ops/rope/rope.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  const Shape &x = c[0].shape, &cos = c[2].shape;
  LEMNOS_CHECK(x.size() == 3 && c[1].shape == Shape{x[0]} && c[1].dtype == DType::i32);
  LEMNOS_CHECK(cos.size() == 2 && c[3].shape == cos && 2 * cos[1] <= x[2], "rope of {} by {}",
               to_string(x), to_string(cos));
  return {{x, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const HostTensor &x = c.in(0), &positions = c.in(1), &cos = c.in(2), &sin = c.in(3);
  HostTensor& y = c.out(0);
  const double sign = c.attrs.get_bool("inverse") ? -1 : 1;
  const auto heads = static_cast<size_t>(x.shape[1]), dim = static_cast<size_t>(x.shape[2]),
             half = static_cast<size_t>(cos.shape[1]);
  y.data = x.data;
  for (size_t head = 0; head < positions.data.size() * heads; ++head) {
    const size_t angle = static_cast<size_t>(positions.data[head / heads]) * half;
    for (size_t i = 0; i < half; ++i) {
      const size_t first = head * dim + i, second = first + half;
      const double cosine = cos.data.at(angle + i), sine = sign * sin.data.at(angle + i);
      y.data[first] = x.data[first] * cosine - x.data[second] * sine;
      y.data[second] = x.data[second] * cosine + x.data[first] * sine;
    }
  }
}

std::vector<ValueId> grad(GradContext& c) {
  const auto& in = c.node.inputs;
  const bool inverse = c.node.attrs.get_bool("inverse");
  return {ops::rope(c.builder, c.grad_outputs[0], in[1], in[2], in[3], !inverse), {}, {}, {}};
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape &x = c.shape_in(0), &cos = c.shape_in(2);
  kernel_count(x);
  kernel_count(cos);
  const bool by_4 = x[2] % 4 == 0 && cos[1] % 4 == 0;
  const int64_t unit = by_4 ? 4 : 1;
  const int64_t head_units = x[2] / unit, half_units = cos[1] / unit;
  const int64_t count = x[0] * x[1] * (head_units - half_units);
  const RopeParams params{.x = {},
                          .positions = {},
                          .cos = {},
                          .sin = {},
                          .y = {},
                          .count = kernel_count(count),
                          .heads = kernel_count(x[1]),
                          .head_units = kernel_count(head_units),
                          .half_units = kernel_count(half_units),
                          .sign = c.node.attrs.get_bool("inverse") ? -1.0f : 1.0f};
  return {kernel(by_4 ? "rope.vec4" : "rope.scalar", params,
                 {c.in(0), c.in(1), c.in(2), c.in(3), c.out(0)}, flat_groups(count, 64))};
}

}  // namespace

extern const OpDef kRopeOp;

const OpDef kRopeOp{.name = "rope",
                    .infer = infer,
                    .reference = reference,
                    .grad = grad,
                    .dispatch = dispatch,
                    .inplace = {{0, 0}}};

namespace ops {

ValueId rope(Builder& b, ValueId x, ValueId positions, ValueId cos, ValueId sin, bool inverse) {
  return b.emit1(kRopeOp, {x, positions, cos, sin}, {{"inverse", inverse}});
}

}  // namespace ops
}  // namespace lemnos
