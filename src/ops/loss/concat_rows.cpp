#include "ops/loss/concat_rows.h"

#include <algorithm>

#include "base/error.h"
#include "ops/loss/concat_rows.params.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  int64_t rows = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Shape& part = c[i].shape;
    LEMNOS_CHECK(part.size() == 2 && part[1] == c[0].shape[1], "part {}", to_string(part));
    LEMNOS_CHECK(i + 1 == c.inputs.size() || element_count(part) % 4 == 0, "part {}",
                 to_string(part));
    rows += part[0];
  }
  return {{{rows, c[0].shape[1]}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  auto at = c.out(0).data.begin();
  for (const HostTensor* part : c.inputs) at = std::copy(part->data.begin(), part->data.end(), at);
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  std::vector<KernelCall> calls;
  int64_t first = 0;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const int64_t count = element_count(c.shape_in(i));
    ConcatRowsParams params{};
    params.count = static_cast<uint32_t>(count);
    calls.push_back(kernel("concat_rows", params, {c.in(i), c.out(0, 4 * first)},
                           flat_groups((count + 3) / 4, 64)));
    calls.back().independent = i > 0;
    first += count;
  }
  return calls;
}

}  // namespace

extern const OpDef kConcatRowsOp;

const OpDef kConcatRowsOp{.name = "concat_rows",
                          .infer = infer,
                          .reference = reference,
                          .grad = nullptr,
                          .dispatch = dispatch};

namespace ops {

ValueId concat_rows(Builder& b, std::vector<ValueId> parts) {
  return b.emit1(kConcatRowsOp, std::move(parts));
}

}  // namespace ops
}  // namespace lemnos
