#include <algorithm>

#include "ops/moe/grouped_linear.h"
#include "ops/moe/moe_gather.h"
#include "ops/moe/moe_route.h"
#include "ops/moe/moe_sort.h"
#include "ops/moe/swiglu_fused.h"
#include "support/op_harness.h"

namespace lemnos::test {
namespace {

class MoeOnDevice : public DeviceTest {};

OpCase route_case(int64_t tokens, int64_t experts, int64_t k, bool norm_topk_prob) {
  OpCase test;
  test.build = [=](Builder& b) {
    const ValueId logits = b.input("logits", {tokens, experts}, DType::f32);
    const auto routing = ops::moe_route(b, logits, k, norm_topk_prob);
    return std::vector<ValueId>{routing.weights, routing.experts};
  };
  test.values = {{"logits", random_tensor({tokens, experts}, 1, -4, 4)}};
  test.wanted = {"logits"};
  test.ulps = 6;
  test.finite_differences = tokens < 20;
  return test;
}

TEST_F(MoeOnDevice, RouterChoosesAndWeighs) {
  for (const bool norm_topk_prob : {false, true}) {
    check_op(route_case(9, 8, 2, norm_topk_prob));
    check_op(route_case(5, 4, 4, norm_topk_prob));
    check_op(route_case(70, 128, 8, norm_topk_prob));
  }
}

TEST_F(MoeOnDevice, RouterBreaksTiesByTheLowerExpert) {
  OpCase test = route_case(1, 6, 3, true);
  test.values["logits"] = {{1, 6}, {0, 2, 1, 2, 1, 2}};
  test.wanted.clear();
  test.finite_differences = false;
  check_op(test);
}

/// Different experts for each token, some experts without any.
HostTensor some_experts(int64_t tokens, int64_t k, int64_t experts) {
  HostTensor chosen{{tokens, k}, {}};
  for (int64_t n = 0; n < tokens; ++n)
    for (int64_t j = 0; j < k; ++j)
      chosen.data.push_back(
          static_cast<double>((n * n + 3 * n + 5 * j) % experts / 2 * 2 % experts));
  return chosen;
}

OpCase sort_case(int64_t tokens, int64_t k, int64_t experts) {
  OpCase test;
  test.build = [=](Builder& b) {
    const ValueId chosen = b.input("experts", {tokens, k}, DType::i32);
    const auto rows = ops::moe_sort(b, chosen, experts);
    return std::vector<ValueId>{rows.order, rows.offsets, rows.rows};
  };
  test.values = {{"experts", some_experts(tokens, k, experts)}};
  test.ulps = 0;
  return test;
}

TEST_F(MoeOnDevice, SortIsStable) {
  check_op(sort_case(1, 1, 1));
  check_op(sort_case(7, 2, 8));
  check_op(sort_case(300, 3, 70));  // blocks and experts beyond one workgroup
}

TEST_F(MoeOnDevice, GatherAndCombine) {
  for (const int64_t width : {5, 64, 300}) {
    OpCase test;
    test.build = [width](Builder& b) {
      const auto rows = ops::moe_sort(b, b.input("experts", {7, 2}, DType::i32), 6);
      const ValueId xs = ops::moe_gather(b, b.input("x", {7, width}, DType::f32), rows);
      const ValueId weights = b.input("weights", {7, 2}, DType::f32);
      return std::vector<ValueId>{ops::moe_combine(b, xs, weights, rows), xs};
    };
    test.values = {{"experts", some_experts(7, 2, 6)},
                   {"x", random_tensor({7, width}, 1)},
                   {"weights", random_tensor({7, 2}, 2)}};
    test.wanted = {"x", "weights"};
    test.ulps = 4;
    test.finite_differences = width < 100;
    check_op(test);
  }
}

TEST_F(MoeOnDevice, FusedSwiglu) {
  for (const int64_t width : {1, 6, 32}) {
    OpCase test;
    test.build = [width](Builder& b) {
      return std::vector<ValueId>{
          ops::swiglu_fused(b, b.input("gate_up", {5, 2 * width}, DType::f32))};
    };
    test.values = {{"gate_up", random_tensor({5, 2 * width}, 1, -6, 6)}};
    test.wanted = {"gate_up"};
    test.ulps = 8;
    test.finite_differences = true;
    check_op(test);
  }
}

OpCase experts_case(int64_t tokens, int64_t hidden, int64_t inner, int64_t experts, DType dtype) {
  OpCase test;
  const Shape up{experts, 2 * inner, hidden}, down{experts, hidden, inner};
  const bool trained = dtype == DType::f32;
  test.build = [=](Builder& b) {
    const ValueId x = b.input("x", {tokens, hidden}, DType::f32);
    const ValueId gate_up = b.parameter("gate_up_proj", up, dtype, trained);
    const ValueId down_proj = b.parameter("down_proj", down, dtype, trained);
    const auto routing =
        ops::moe_route(b, b.input("logits", {tokens, experts}, DType::f32), 2, true);
    const auto rows = ops::moe_sort(b, routing.experts, experts);
    const ValueId xs = ops::moe_gather(b, x, rows);
    const ValueId h = ops::swiglu_fused(b, ops::grouped_linear(b, xs, gate_up, rows.offsets));
    const ValueId ys = ops::grouped_linear(b, h, down_proj, rows.offsets);
    return std::vector<ValueId>{ops::moe_combine(b, ys, routing.weights, rows)};
  };
  test.values = {{"x", random_tensor({tokens, hidden}, 1)},
                 {"gate_up_proj", narrow(random_tensor(up, 2), dtype)},
                 {"down_proj", narrow(random_tensor(down, 3), dtype)},
                 {"logits", random_tensor({tokens, experts}, 4, -2, 2)}};
  if (trained) test.values["gate_up_proj"] = random_tensor(up, 2);
  if (trained) test.values["down_proj"] = random_tensor(down, 3);
  test.wanted = {"x", "logits"};
  if (trained) test.wanted.insert(test.wanted.end(), {"gate_up_proj", "down_proj"});
  test.ulps = 40;
  return test;
}

TEST(Moe, ABlockOfExpertsHasTheRightGradients) {
  const OpCase test = experts_case(4, 3, 2, 5, DType::f32);
  check_gradients({[&](Builder& b) { return test.build(b)[0]; }, test.values, test.wanted});
}

TEST_F(MoeOnDevice, ABlockOfExperts) {
  check_op(experts_case(70, 20, 12, 5, DType::f32));
  check_op(experts_case(9, 32, 16, 4, DType::bf16));
}

// One token uses 2 of 8 experts: the others' gradients are exact zeros.
TEST_F(MoeOnDevice, UnusedExpertsHaveNoGradient) {
  const OpCase test = experts_case(1, 8, 4, 8, DType::f32);
  for (const bool gpu_path : {false, true}) {
    Graph graph;
    Builder b(graph);
    const ValueId y = test.build(b)[0];
    Autodiff autodiff(b);
    autodiff.add(y, b.input("dy", graph.shape(y), DType::f32));
    autodiff.run();
    DeviceRun run(graph, gpu_path || !test_device().cpu_path());
    for (const auto& [name, tensor] : test.values) run.set(name, tensor);
    run.set("dy", random_tensor({1, 8}, 9));
    run.run();
    const HostTensor gradient = run.get("grad/gate_up_proj");
    int used = 0;
    for (size_t e = 0; e < 8; ++e) {
      const auto first = gradient.data.begin() + static_cast<std::ptrdiff_t>(e * 64);
      used += std::any_of(first, first + 64, [](double g) { return g != 0; }) ? 1 : 0;
    }
    EXPECT_EQ(used, 2);
  }
}

}  // namespace
}  // namespace lemnos::test
