#include "ops/elementwise/reshape.h"

#include "base/error.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  Shape shape = c.attrs.get_ints("shape");
  LEMNOS_CHECK(element_count(shape) == element_count(c[0].shape), "reshape {} to {}",
               to_string(c[0].shape), to_string(shape));
  return {{std::move(shape), c[0].dtype}};
}

void reference(const ReferenceContext& c) { c.out(0).data = c.in(0).data; }

std::vector<ValueId> grad(GradContext& c) {
  return {ops::reshape(c.builder, c.grad_outputs[0], c.builder.shape(c.node.inputs[0]))};
}

std::vector<KernelCall> dispatch(const DispatchContext&) { return {}; }

}  // namespace

extern const OpDef kReshapeOp;

const OpDef kReshapeOp{.name = "reshape",
                       .infer = infer,
                       .reference = reference,
                       .grad = grad,
                       .dispatch = dispatch,
                       .is_view = true};

namespace ops {

ValueId reshape(Builder& b, ValueId x, Shape shape) {
  int64_t known = 1;
  for (const int64_t extent : shape)
    if (extent >= 0) known *= extent;
  for (int64_t& extent : shape)
    if (extent < 0) extent = element_count(b.shape(x)) / known;
  return b.emit1(kReshapeOp, {x}, {{"shape", shape}});
}

}  // namespace ops
}  // namespace lemnos
