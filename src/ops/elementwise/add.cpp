#include "ops/elementwise/add.h"

#include "base/error.h"
#include "ops/elementwise/add.params.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  LEMNOS_CHECK(c[0] == c[1], "add {} and {}", to_string(c[0].shape), to_string(c[1].shape));
  return {c[0]};
}

void reference(const ReferenceContext& c) {
  for (size_t i = 0; i < c.out(0).data.size(); ++i)
    c.out(0).data[i] = c.in(0).data[i] + c.in(1).data[i];
}

std::vector<ValueId> grad(GradContext& c) { return {c.grad_outputs[0], c.grad_outputs[0]}; }

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const int64_t count = element_count(c.shape_out(0));
  AddParams params{.x = {}, .y = {}, .z = {}, .count = static_cast<uint32_t>(count)};
  return {kernel("add", params, {c.in(0), c.in(1), c.out(0)}, flat_groups((count + 3) / 4, 64))};
}

}  // namespace

extern const OpDef kAddOp;
extern const OpDef kAccumulateOp;

const OpDef kAddOp{.name = "add",
                   .infer = infer,
                   .reference = reference,
                   .grad = grad,
                   .dispatch = dispatch,
                   .inplace = {{0, 0}, {0, 1}}};
const OpDef kAccumulateOp{.name = "accumulate",
                          .infer = infer,
                          .reference = reference,
                          .grad = nullptr,
                          .dispatch = dispatch,
                          .inplace = {{0, 0}}};

namespace ops {

ValueId add(Builder& b, ValueId x, ValueId y) { return b.emit1(kAddOp, {x, y}); }
ValueId accumulate(Builder& b, ValueId sum, ValueId term) { return b.emit1(kAccumulateOp, {sum, term}); }

}  // namespace ops
}  // namespace lemnos
