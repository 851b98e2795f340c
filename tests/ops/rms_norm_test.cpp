#include "ops/norm/rms_norm.h"

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class RmsNorm : public DeviceTest {};

OpCase norm_case(const Shape& shape, double low, double high) {
  const Shape width{shape.back()};
  return {.build =
              [=](Builder& b) {
                const ValueId x = b.input("x", shape, DType::f32);
                const ValueId w = b.parameter("w", width, DType::f32, true);
                return std::vector{ops::rms_norm(b, x, w, 1e-6)};
              },
          .values = {{"x", random_tensor(shape, 1, low, high)},
                     {"w", random_tensor(width, 2, 0.5, 1.5)}},
          .wanted = {"x", "w"},
          .ulps = 4};
}

TEST_F(RmsNorm, MatchesTheInterpreter) {
  for (const Shape& shape : {Shape{5, 16}, Shape{2, 3}, Shape{3, 7, 64}, Shape{600, 130},
                             Shape{9, 1030}, Shape{3, 4096}}) {
    OpCase test = norm_case(shape, -2, 2);
    test.finite_differences = element_count(shape) < 100;
    check_op(test);
  }
}

// A workgroup a row on the CPU path: more than one axis of the grid can count.
TEST_F(RmsNorm, MoreRowsThanOneGridAxis) {
  OpCase test = norm_case({66'000, 4}, -2, 2);
  test.wanted.clear();
  check_op(test);
}

// A mean far from zero: a plain f32 sum of 16,384 squares would be off by many ulps.
TEST_F(RmsNorm, LongRowsLoseNoAccuracy) { check_op(norm_case({2, 16384}, 0.9, 1.1)); }

TEST_F(RmsNorm, TinyAndLargeRows) {
  check_op(norm_case({4, 64}, -1e-4, 1e-4));
  check_op(norm_case({4, 64}, -1e4, 1e4));
}

TEST_F(RmsNorm, GradientsAddToWhatIsThere) {
  const Shape shape{11, 24};
  check_op({.build =
                [&](Builder& b) {  // x and w are used twice
                  const ValueId x = b.input("x", shape, DType::f32);
                  const ValueId w = b.parameter("w", {24}, DType::f32, true);
                  return std::vector{ops::rms_norm(b, ops::rms_norm(b, x, w, 1e-5), w, 1e-5)};
                },
            .values = {{"x", random_tensor(shape, 3)}, {"w", random_tensor({24}, 4, 0.5, 1.5)}},
            .wanted = {"x", "w"},
            .ulps = 8,
            .finite_differences = true});
}

}  // namespace
}  // namespace lemnos::test
