#include "ops/elementwise/dropout.h"

#include <cmath>

#include "base/philox.h"
#include "ops/elementwise/dropout.params.h"
#include "ops/optim/step_params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

static_assert(kSeedLo == 0 && kSeedHi == 1 && kStep == 2 && kMicro == 3,
              "dropout.comp says so too");

constexpr int64_t kMostColumns = 4 * 65536;
constexpr int64_t kMostSites = 65536;

uint32_t threshold_of(const Attrs& attrs) {
  return static_cast<uint32_t>(std::floor(std::ldexp(attrs.get_double("p"), 32)));
}

float scale_of(const Attrs& attrs) { return 1.0f / static_cast<float>(1 - attrs.get_double("p")); }

uint32_t word_of(double x) { return static_cast<uint32_t>(static_cast<int64_t>(x)); }

// Inputs x, rows, step_i32.
std::vector<ValueType> infer(const InferContext& c) {
  const Shape& x = c[0].shape;
  const double p = c.attrs.get_double("p");
  const int64_t site = c.attrs.get_int("site");
  LEMNOS_CHECK(c[1] == (ValueType{{rows_of(x)}, DType::i32}) &&
               c[2] == (ValueType{{kStepInts}, DType::i32}));
  LEMNOS_CHECK(p >= 0 && p < 1 && site >= 0 && site < kMostSites && width_of(x) <= kMostColumns,
               "dropout {} at site {} of {}", p, site, to_string(x));
  return {c[0]};
}

void reference(const ReferenceContext& c) {
  const HostTensor &x = c.in(0), &rows = c.in(1), &step = c.in(2);
  const auto width = static_cast<size_t>(width_of(x.shape));
  const auto site = static_cast<uint32_t>(c.attrs.get_int("site"));
  const uint32_t threshold = threshold_of(c.attrs);
  const double scale = scale_of(c.attrs);
  const std::array<uint32_t, 2> key{word_of(step.data[kSeedLo]), word_of(step.data[kSeedHi])};
  for (size_t r = 0; r < rows.data.size(); ++r)
    for (size_t column = 0; column < width; ++column) {
      const auto block = static_cast<uint32_t>(column / 4);
      const auto words = philox4x32({word_of(rows.data[r]), site * 65536u + block,
                                     word_of(step.data[kMicro]), word_of(step.data[kStep])},
                                    key);
      const size_t at = r * width + column;
      c.out(0).data[at] = words[column % 4] < threshold ? 0.0 : scale * x.data[at];
    }
}

std::vector<ValueId> grad(GradContext& c) {
  return {ops::dropout(c.builder, c.grad_outputs[0], c.node.inputs[1], c.node.inputs[2],
                       c.node.attrs.get_double("p"), c.node.attrs.get_int("site")),
          {},
          {}};
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape& x = c.shape_in(0);
  kernel_count(x);
  const int64_t blocks = (width_of(x) + 3) / 4, count = rows_of(x) * blocks;
  const DropoutParams params{.x = {},
                             .rows = {},
                             .step = {},
                             .y = {},
                             .count = kernel_count(count),
                             .width = kernel_count(width_of(x)),
                             .blocks = kernel_count(blocks),
                             .site = static_cast<uint32_t>(c.node.attrs.get_int("site")),
                             .threshold = threshold_of(c.node.attrs),
                             .scale = scale_of(c.node.attrs)};
  return {kernel("dropout", params, {c.in(0), c.in(1), c.in(2), c.out(0)}, flat_groups(count, 64),
                 {0, width_by_4(width_of(x))})};
}

}  // namespace

extern const OpDef kDropoutOp;

const OpDef kDropoutOp{.name = "dropout",
                       .infer = infer,
                       .reference = reference,
                       .grad = grad,
                       .dispatch = dispatch,
                       .inplace = {{0, 0}}};

namespace ops {

ValueId dropout(Builder& b, ValueId x, ValueId rows, ValueId step_i32, double p, int64_t site) {
  return b.emit1(kDropoutOp, {x, rows, step_i32}, {{"p", p}, {"site", site}});
}

}  // namespace ops
}  // namespace lemnos
