#include <algorithm>
#include <cmath>

#include "ops/loss/concat_rows.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/linear_cross_entropy.h"
#include "ops/loss/loss_sum.h"
#include "ops/optim/step_params.h"
#include "support/op_harness.h"

namespace lemnos::test {
namespace {

HostTensor step_values(double loss_scale) {
  HostTensor step{{kStepFloats}, std::vector<double>(kStepFloats, 0.0)};
  step.data[kLossScale] = loss_scale;
  return step;
}

/// Every third row ignored, the others with targets spread over the vocabulary, the last one
/// included.
HostTensor some_targets(int64_t rows, int64_t vocabulary) {
  HostTensor targets{{rows}, {}};
  for (int64_t i = 0; i < rows; ++i)
    targets.data.push_back(i % 3 == 1 ? -1.0
                                      : static_cast<double>(vocabulary - 1 - i * 7 % vocabulary));
  return targets;
}

OpCase cross_entropy_case(HostTensor logits, double softcap = 0.0) {
  const Shape shape = logits.shape;
  OpCase test;
  test.build = [shape, softcap](Builder& b) {
    const ValueId x = b.input("logits", shape, DType::f32);
    const ValueId targets = b.input("targets", {shape[0] + 2}, DType::i32);
    const ValueId step = b.input("step_f32", {kStepFloats}, DType::f32);
    const auto made = ops::cross_entropy(b, x, targets, step, 1, softcap);
    return std::vector<ValueId>{made.dlogits, made.losses,
                                ops::cross_entropy_loss(b, x, targets, 1, softcap)};
  };
  test.values = {{"logits", std::move(logits)},
                 {"targets", some_targets(shape[0] + 2, shape[1])},
                 {"step_f32", step_values(0.25)}};
  test.ulps = 4;
  return test;
}

class LossOnDevice : public DeviceTest {};

TEST_F(LossOnDevice, CrossEntropyOfSmallAndRaggedVocabularies) {
  for (const int64_t vocabulary : {2, 32, 33, 1027, 4096})
    check_op(cross_entropy_case(random_tensor({5, vocabulary}, 1, -3, 3)));
}

TEST_F(LossOnDevice, CrossEntropyOfALargeVocabulary) {
  check_op(cross_entropy_case(random_tensor({2, 262'144}, 1, -9, 9)));
}

TEST_F(LossOnDevice, CrossEntropyOfWideRanges) {
  check_op(cross_entropy_case(random_tensor({4, 517}, 2, -80, 80)));
  check_op(cross_entropy_case(random_tensor({4, 512}, 2, -2e4, -1e4)));
}

TEST_F(LossOnDevice, CrossEntropyWhoseMaximumKeepsRising) {
  HostTensor logits = random_tensor({2, 5000}, 3, 0, 0.01);
  for (size_t i = 0; i < logits.data.size(); ++i)
    logits.data[i] = static_cast<float>(logits.data[i] + 0.01 * static_cast<double>(i % 5000));
  check_op(cross_entropy_case(std::move(logits)));
}

// One logit holds nearly everything: what the others add must not get lost in its sum.
TEST_F(LossOnDevice, CrossEntropyOfAConfidentRow) {
  HostTensor logits = random_tensor({2, 100'000}, 3, -17, -16);
  logits.data[3] = logits.data[100'003] = 0.5;
  OpCase test = cross_entropy_case(std::move(logits));
  test.values["targets"] = {{4}, {0, 3, 3, 0}};
  test.build = [](Builder& b) {
    const ValueId x = b.input("logits", {2, 100'000}, DType::f32);
    const ValueId targets = b.input("targets", {4}, DType::i32);
    b.input("step_f32", {kStepFloats}, DType::f32);
    return std::vector<ValueId>{ops::cross_entropy_loss(b, x, targets, 1)};
  };
  test.ulps = 1 / 0.004 * 2;  // log(1 + 0.004): one rounding of the sum, one of the logarithm
  check_op(test);
}

TEST_F(LossOnDevice, CrossEntropyWithSoftcap) {
  check_op(cross_entropy_case(random_tensor({5, 70}, 4, -60, 60), 30.0));
}

TEST_F(LossOnDevice, ANanLogitMakesTheLossNan) {
  for (const bool gpu_path : {false, true}) {
    Graph graph;
    Builder b(graph);
    const ValueId x = b.input("logits", {1, 200}, DType::f32);
    const ValueId targets = b.input("targets", {1}, DType::i32);
    const ValueId loss = ops::cross_entropy_loss(b, x, targets, 0);
    graph.results = {loss};
    DeviceRun run(graph, gpu_path || !test_device().cpu_path());
    HostTensor logits = random_tensor({1, 200}, 1);
    logits.data[77] = std::nan("");
    run.set("logits", logits);
    run.set("targets", {{1}, {5}});
    run.run();
    EXPECT_TRUE(std::isnan(run.get(loss).data[0]));
  }
}

TEST(Loss, CrossEntropyGradientIsTheLossesDifference) {
  for (const double softcap : {0.0, 3.0}) {
    const OpCase test = cross_entropy_case(random_tensor({4, 9}, 5, -3, 3), softcap);
    Graph graph;
    Builder builder(graph);
    const std::vector<ValueId> out = test.build(builder);
    const auto run = [&](const HostTensor& logits) {
      Interpreter interpreter(graph);
      for (const auto& [name, tensor] : test.values) interpreter.set(name, tensor);
      interpreter.set("logits", logits);
      interpreter.run();
      return interpreter;
    };
    const HostTensor logits = test.values.at("logits");
    const Interpreter at = run(logits);
    for (size_t i = 0; i < logits.data.size(); ++i) {
      HostTensor above = logits, below = logits;
      above.data[i] += 1e-5;
      below.data[i] -= 1e-5;
      const size_t row = i / 9;
      const double slope =
          (run(above).get(out[1]).data[row] - run(below).get(out[1]).data[row]) / 2e-5;
      EXPECT_NEAR(at.get(out[0]).data[i], 0.25 * slope, 1e-9);
    }
  }
}

TEST_F(LossOnDevice, LossesAreAddedWithTheirRoundingError) {
  OpCase test;
  test.build = [](Builder& b) {
    const ValueId losses = b.input("losses", {3001}, DType::f32);
    ops::add_losses(b, b.state("loss_sum", {2}), losses);
    return std::vector<ValueId>{};
  };
  test.values = {{"losses", random_tensor({3001}, 1, 0, 10)}, {"loss_sum", {{2}, {1e6, 0.0}}}};
  Graph graph;
  Builder builder(graph);
  test.build(builder);
  for (const bool gpu_path : {false, true}) {
    DeviceRun run(graph, gpu_path || !test_device().cpu_path());
    for (const auto& [name, tensor] : test.values) run.set(name, tensor);
    double exact = 1e6;
    for (const double x : test.values["losses"].data) exact += x;
    run.run();
    const HostTensor sum = run.get("loss_sum");
    EXPECT_NEAR(sum.data[0] + sum.data[1], exact, 1e-7 * (exact - 1e6));
  }
}

TEST_F(LossOnDevice, RowsAreConcatenated) {
  OpCase test;
  test.build = [](Builder& b) {
    const ValueId x = b.input("x", {4, 5}, DType::f32), y = b.input("y", {3, 5}, DType::f32);
    return std::vector<ValueId>{ops::concat_rows(b, {x, y})};
  };
  test.values = {{"x", random_tensor({4, 5}, 1)}, {"y", random_tensor({3, 5}, 2)}};
  test.ulps = 0;
  check_op(test);
}

TEST(Loss, ChunksAreEvenAndFit) {
  constexpr int64_t kBytes = int64_t{128} << 20;
  EXPECT_EQ(loss_chunk_rows(100, 32, kBytes), 100);
  EXPECT_EQ(loss_chunk_rows(2048, 32'000, kBytes), 1024);
  EXPECT_EQ(loss_chunk_rows(1100, 32'000, kBytes), 640);
  EXPECT_EQ(loss_chunk_rows(4096, 262'144, kBytes), 128);
  EXPECT_EQ(loss_chunk_rows(4096, 900'000, kBytes), 128);
}

constexpr int64_t kRows = 150, kHidden = 8, kVocabulary = 12;

struct LossGraph {
  Graph graph;
  ValueId hidden, weight, bias, sum;
  ValueId d_hidden, d_weight, d_bias;
};

/// Chunks of 128 rows at most when `most_bytes` is small.
LossGraph loss_graph(bool gradients, int64_t most_bytes, double softcap = 0.0) {
  LossGraph made;
  Builder b(made.graph);
  made.hidden = b.input("hidden", {kRows, kHidden}, DType::f32);
  made.weight = b.parameter("lm_head.weight", {kVocabulary, kHidden}, DType::f32, true);
  made.bias = b.parameter("lm_head.bias", {kVocabulary}, DType::f32, true);
  const ValueId targets = b.input("targets", {kRows}, DType::i32);
  const ValueId step = gradients ? b.input("step_f32", {kStepFloats}, DType::f32) : ValueId{};
  const LogitOptions options{.scale = 0.5, .softcap = softcap, .most_bytes = most_bytes};
  if (!gradients) {
    made.sum =
        linear_cross_entropy(b, made.hidden, made.weight, made.bias, targets, {}, nullptr, options);
    return made;
  }
  Autodiff autodiff(b, {made.hidden});
  made.sum = linear_cross_entropy(b, made.hidden, made.weight, made.bias, targets, step, &autodiff,
                                  options);
  autodiff.run();
  made.d_hidden = autodiff.gradient(made.hidden);
  made.d_weight = autodiff.gradient(made.weight);
  made.d_bias = autodiff.gradient(made.bias);
  made.graph.results = {made.d_hidden};
  return made;
}

std::map<std::string, HostTensor> loss_values() {
  return {{"hidden", random_tensor({kRows, kHidden}, 1)},
          {"lm_head.weight", random_tensor({kVocabulary, kHidden}, 2)},
          {"lm_head.bias", random_tensor({kVocabulary}, 3)},
          {"targets", some_targets(kRows, kVocabulary)}};
}

template <typename Run>
void set_values(Run& run, bool gradients) {
  for (const auto& [name, tensor] : loss_values()) run.set(name, tensor);
  if (gradients) run.set("step_f32", step_values(1.0 / 100));
}

double loss_at(const LossGraph& loss, const std::string& name, size_t i, double move) {
  Interpreter run(loss.graph);
  set_values(run, false);
  HostTensor moved = loss_values().at(name);
  moved.data[i] += move;
  run.set(name, moved);
  run.run();
  return run.get("loss_sum").data[0];
}

TEST(Loss, ChunkedLossGradientsAreItsDifferences) {
  const LossGraph loss = loss_graph(true, 1, 2.0), forward = loss_graph(false, 1 << 20, 2.0);
  Interpreter run(loss.graph);
  set_values(run, true);
  run.run();
  const std::map<std::string, ValueId> gradients{
      {"hidden", loss.d_hidden}, {"lm_head.weight", loss.d_weight}, {"lm_head.bias", loss.d_bias}};
  for (const auto& [name, id] : gradients)
    for (size_t i = 0; i < run.get(id).data.size(); i += 11) {
      const double slope =
          (loss_at(forward, name, i, 1e-5) - loss_at(forward, name, i, -1e-5)) / 2e-5;
      EXPECT_NEAR(run.get(id).data[i], slope / 100, 1e-8) << name << " " << i;
    }
  EXPECT_NEAR(run.get("loss_sum").data[0], loss_at(forward, "hidden", 0, 0), 1e-9);
}

TEST_F(LossOnDevice, ChunkedLossMatchesTheInterpreter) {
  const LossGraph loss = loss_graph(true, 1);
  Interpreter truth(loss.graph);
  set_values(truth, true);
  truth.run();
  for (const bool gpu_path : {false, true}) {
    DeviceRun run(loss.graph, gpu_path || !test_device().cpu_path());
    set_values(run, true);
    run.run();
    for (const ValueId id : {loss.d_hidden, loss.d_weight, loss.d_bias}) {
      const HostTensor got = run.get(id), want = truth.get(id);
      double largest = 0;
      for (const double x : want.data) largest = std::max(largest, std::abs(x));
      for (size_t i = 0; i < want.data.size(); ++i)
        EXPECT_NEAR(got.data[i], want.data[i], 16 * std::ldexp(largest, -24))
            << id.index << " " << i;
    }
    const HostTensor sum = run.get("loss_sum");
    EXPECT_NEAR(sum.data[0] + sum.data[1], truth.get("loss_sum").data[0], 2e-7 * sum.data[0]);
  }
}

}  // namespace
}  // namespace lemnos::test
