#include "ops/elementwise/constant.h"

#include <cstddef>

#include "ops/elementwise/fill.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

KernelCall fill_call(const DispatchContext& c, float value) {
  const uint32_t count = kernel_count(c.shape_out(0));
  const FillParams params{.y = {}, .count = count, .value = value};
  KernelCall call = kernel("fill", params, {c.out(0)}, flat_groups((int64_t{count} + 3) / 4, 64));
  call.flat = {offsetof(FillParams, count), 256, {4}};
  return call;
}

std::vector<ValueType> infer_fill(const InferContext& c) {
  return {{c.attrs.get_ints("shape"), DType::f32}};
}

void reference_fill(const ReferenceContext& c) {
  for (double& x : c.out(0).data) x = c.attrs.get_double("value");
}

std::vector<KernelCall> dispatch_fill(const DispatchContext& c) {
  return {fill_call(c, static_cast<float>(c.node.attrs.get_double("value")))};
}

std::vector<ValueType> infer_zero(const InferContext& c) {
  LEMNOS_CHECK(c[0].dtype == DType::f32);
  return {c[0]};
}

void reference_zero(const ReferenceContext&) {}  // outputs come zeroed

std::vector<KernelCall> dispatch_zero(const DispatchContext& c) { return {fill_call(c, 0.0f)}; }

}  // namespace

extern const OpDef kFillOp;
extern const OpDef kZeroOp;

const OpDef kFillOp{.name = "fill",
                    .infer = infer_fill,
                    .reference = reference_fill,
                    .grad = nullptr,
                    .dispatch = dispatch_fill};
const OpDef kZeroOp{.name = "zero",
                    .infer = infer_zero,
                    .reference = reference_zero,
                    .grad = nullptr,
                    .dispatch = dispatch_zero,
                    .inplace = {{0, 0}}};

namespace ops {

ValueId fill(Builder& b, const Shape& shape, double value) {
  return b.emit1(kFillOp, {}, {{"shape", shape}, {"value", value}});
}

void zero(Builder& b, ValueId state) {
  LEMNOS_CHECK(b.graph()[state].kind == ValueKind::state, "only states are cleared");
  const Section before = std::exchange(b.section, Section::zero);
  b.emit(kZeroOp, {state});
  b.section = before;
}

}  // namespace ops
}  // namespace lemnos
