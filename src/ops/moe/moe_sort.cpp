#include "ops/moe/moe_sort.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/moe/moe_sort.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

constexpr int64_t kBlock = 256;  // slots that one invocation walks, as in the shaders

int64_t block_count(const Shape& experts) { return (element_count(experts) + kBlock - 1) / kBlock; }

std::vector<ValueType> infer(const InferContext& c) {
  const Shape& experts = c[0].shape;
  const int64_t count = c.attrs.get_int("expert_count"), blocks = block_count(experts);
  LEMNOS_CHECK(experts.size() == 2 && c[0].dtype == DType::i32, "experts {}", to_string(experts));
  check_iterations(blocks);
  check_iterations(count + kBlock * (experts[1] + 1));
  return {{{element_count(experts)}, DType::i32},
          {{count + 1}, DType::i32},
          {experts, DType::i32},
          {{(blocks + 1) * count}, DType::i32}};
}

void reference(const ReferenceContext& c) {
  const std::vector<double>& experts = c.in(0).data;
  const auto k = static_cast<size_t>(c.in(0).shape[1]);
  std::vector<size_t> order(experts.size()), next(experts.size() / k, 0);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return experts[a] < experts[b]; });
  for (size_t row = 0; row < order.size(); ++row) {
    const size_t token = order[row] / k;
    c.out(0).data[row] = static_cast<double>(order[row]);
    c.out(2).data[token * k + next[token]++] = static_cast<double>(row);
  }
  for (const double expert : experts)
    for (size_t e = static_cast<size_t>(expert) + 1; e < c.out(1).data.size(); ++e)
      c.out(1).data[e] += 1;
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const int64_t count = c.node.attrs.get_int("expert_count"), blocks = block_count(c.shape_in(0));
  MoeSortParams params{};
  params.slots = kernel_count(c.shape_in(0));
  params.expert_count = kernel_count(count);
  params.k = kernel_count(c.shape_in(0)[1]);
  params.blocks = kernel_count(blocks);
  const std::vector<BufferRef> buffers{c.in(0), c.out(3), c.out(0), c.out(1), c.out(2)};
  const auto pairs = flat_groups(blocks * count, 64);
  return {kernel("moe_sort_count", params, buffers, pairs),
          kernel("moe_sort_scan", params, buffers, flat_groups(count, 64)),
          kernel("moe_sort_place", params, buffers, pairs)};
}

}  // namespace

extern const OpDef kMoeSortOp;

const OpDef kMoeSortOp{.name = "moe_sort",
                       .infer = infer,
                       .reference = reference,
                       .grad = nullptr,
                       .dispatch = dispatch};

namespace ops {

ExpertRows moe_sort(Builder& b, ValueId experts, int64_t expert_count) {
  const std::vector<ValueId> out = b.emit(kMoeSortOp, {experts}, {{"expert_count", expert_count}});
  return {out[0], out[1], out[2]};
}

}  // namespace ops
}  // namespace lemnos
