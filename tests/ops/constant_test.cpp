#include "ops/elementwise/constant.h"

#include "ops/elementwise/add.h"
#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class Constant : public DeviceTest {};

TEST_F(Constant, FillsWithAValue) {
  check_op({.build =
                [](Builder& b) {
                  return std::vector{ops::fill(b, {3, 43}, -1.5), ops::fill(b, {1}, 0)};
                },
            .ulps = 0});
}

// The zero section runs first, wherever its node was added.
TEST_F(Constant, ZeroClearsAStateOncePerWindow) {
  const Shape shape{7, 11};
  check_op({.build =
                [&](Builder& b) {
                  const ValueId sum = b.state("sum", shape);
                  const ValueId added = ops::accumulate(b, sum, b.input("x", shape, DType::f32));
                  ops::zero(b, sum);
                  return std::vector{added};
                },
            .values = {{"x", random_tensor(shape, 1)}, {"sum", random_tensor(shape, 2)}},
            .states = {"sum"},
            .ulps = 0});
}

}  // namespace
}  // namespace lemnos::test
