#include "ops/elementwise/swiglu.h"

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class Swiglu : public DeviceTest {};

TEST_F(Swiglu, MatchesTheInterpreter) {
  for (const Shape& shape : {Shape{1}, Shape{4, 10}, Shape{37, 53}, Shape{64, 200}})
    check_op({.build =
                  [&](Builder& b) {
                    const ValueId gate = b.input("gate", shape, DType::f32),
                                  up = b.input("up", shape, DType::f32);
                    return std::vector{ops::swiglu(b, gate, up)};
                  },
              .values = {{"gate", random_tensor(shape, 1, -6, 6)},
                         {"up", random_tensor(shape, 2, -3, 3)}},
              .wanted = {"gate", "up"},
              .ulps = 5,
              .finite_differences = element_count(shape) < 100});
}

}  // namespace
}  // namespace lemnos::test
