#include "ops/elementwise/add.h"

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class Add : public DeviceTest {};

TEST_F(Add, MatchesTheInterpreter) {
  for (const Shape& shape : {Shape{1}, Shape{3, 7}, Shape{64, 257}, Shape{1000, 70}})
    check_op({.build = [&](Builder& b) {
                const ValueId x = b.input("x", shape, DType::f32), y = b.input("y", shape, DType::f32);
                return std::vector{ops::add(b, x, y)};
              },
              .values = {{"x", random_tensor(shape, 1)}, {"y", random_tensor(shape, 2)}},
              .wanted = {"x", "y"},
              .ulps = 1,
              .finite_differences = element_count(shape) < 100});
}

}  // namespace
}  // namespace lemnos::test
