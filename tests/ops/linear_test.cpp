#include "ops/linear/linear.h"

#include <gtest/gtest.h>

#include "support/finite_difference.h"

namespace lemnos::test {
namespace {

TEST(Linear, GradientsWithBiasAndAddend) {
  GradientCase test;
  test.build = [](Builder& b) {
    const ValueId x = b.input("x", {3, 5}, DType::f32);
    const ValueId w = b.parameter("w", {4, 5}, DType::f32, true);
    const ValueId bias = b.parameter("bias", {4}, DType::f32, true);
    const ValueId addend = b.input("addend", {3, 4}, DType::f32);
    return ops::linear(b, x, w, bias, addend, 0.5);
  };
  test.values = {{"x", random_tensor({3, 5}, 1)},
                 {"w", random_tensor({4, 5}, 2)},
                 {"bias", random_tensor({4}, 3)},
                 {"addend", random_tensor({3, 4}, 4)}};
  test.wanted = {"x", "w", "bias", "addend"};
  check_gradients(test);
}

TEST(Linear, AWeightUsedTwiceSumsItsGradient) {
  GradientCase test;
  test.build = [](Builder& b) {
    const ValueId x = b.input("x", {3, 4}, DType::f32);
    const ValueId w = b.parameter("w", {4, 4}, DType::f32, true);
    return ops::linear(b, ops::linear(b, x, w), w);
  };
  test.values = {{"x", random_tensor({3, 4}, 1)}, {"w", random_tensor({4, 4}, 2)}};
  test.wanted = {"x", "w"};
  check_gradients(test);
}

}  // namespace
}  // namespace lemnos::test
