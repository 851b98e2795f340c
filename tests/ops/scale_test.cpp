#include "ops/elementwise/scale.h"

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class Scale : public DeviceTest {};

TEST_F(Scale, MatchesTheInterpreter) {
  for (const Shape& shape : {Shape{3}, Shape{5, 33}})
    check_op({.build =
                  [&](Builder& b) {
                    return std::vector{ops::scale(b, b.input("x", shape, DType::f32), 1.0 / 3)};
                  },
              .values = {{"x", random_tensor(shape, 1)}},
              .wanted = {"x"},
              .ulps = 1,
              .finite_differences = true});
}

}  // namespace
}  // namespace lemnos::test
