#include "ops/rope/rope.h"

#include <cmath>

#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class Rope : public DeviceTest {};

HostTensor table(int64_t length, int64_t half, double (*function)(double)) {
  HostTensor tensor{{length, half}, {}};
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) /
                           std::pow(1e4, static_cast<double>(i) / static_cast<double>(half));
      tensor.data.push_back(static_cast<double>(static_cast<float>(function(angle))));
    }
  return tensor;
}

OpCase rope_case(const Shape& shape, int64_t half) {
  const int64_t length = shape[0] + 3;
  HostTensor positions{{shape[0]}, {}};
  for (int64_t n = 0; n < shape[0]; ++n)
    positions.data.push_back(static_cast<double>((n * 7) % length));
  return {.build =
              [=](Builder& b) {
                const ValueId x = b.input("x", shape, DType::f32);
                const ValueId at = b.input("positions", {shape[0]}, DType::i32);
                const ValueId cos = b.input("cos", {length, half}, DType::f32);
                const ValueId sin = b.input("sin", {length, half}, DType::f32);
                return std::vector{ops::rope(b, x, at, cos, sin)};
              },
          .values = {{"x", random_tensor(shape, 1)},
                     {"positions", positions},
                     {"cos", table(length, half, std::cos)},
                     {"sin", table(length, half, std::sin)}},
          .wanted = {"x"},
          .ulps = 2,
          .finite_differences = element_count(shape) < 200};
}

TEST_F(Rope, WholeHeads) {
  check_op(rope_case({5, 3, 8}, 4));
  check_op(rope_case({130, 2, 64}, 32));
}

TEST_F(Rope, PartOfAHead) {
  check_op(rope_case({37, 3, 96}, 36));  // 72 of 96, by fours
  check_op(rope_case({9, 2, 10}, 3));    // one by one
}

TEST_F(Rope, InverseUndoesIt) {
  Graph graph;
  Builder b(graph);
  const OpCase test = rope_case({6, 2, 12}, 4);
  const ValueId y = test.build(b)[0];
  const ValueId back =
      ops::rope(b, y, graph.by_name("positions"), graph.by_name("cos"), graph.by_name("sin"), true);
  Interpreter run(graph);
  for (const auto& [name, tensor] : test.values) run.set(name, tensor);
  run.run();
  const HostTensor &x = run.get("x"), &again = run.get(back);
  for (size_t i = 0; i < x.data.size(); ++i) ASSERT_NEAR(again.data[i], x.data[i], 1e-6);
}

}  // namespace
}  // namespace lemnos::test
