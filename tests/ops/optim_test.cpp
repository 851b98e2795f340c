#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/optim/adamw.h"
#include "ops/optim/clip.h"
#include "ops/optim/step_params.h"
#include "support/op_harness.h"

namespace lemnos::test {
namespace {

struct Profile {
  AdamWSettings adamw;
  double learning_rate;
  std::vector<uint32_t> expected;  // torch 2.13's parameters after 10 steps, as bits
};

// torch.optim.AdamW(foreach=False, fused=False) on the CPU, one thread; parameter and gradients are
// random_tensor({24}, 1) and random_tensor({24}, 100 + step) / 128.
const Profile kEps3{{.eps = 1e-3, .weight_decay = 0.0},
                    1e-3,
                    {0x3f009caa, 0x3e725c19, 0x3e9caaea, 0x3eebbcfc, 0xbe931d44, 0xbf051fbd,
                     0xbf2ccb87, 0xbea2ead9, 0xbf6b84ee, 0xbf49963e, 0xbf24c7da, 0xbf1cc412,
                     0xbce30dc6, 0x3edaad5b, 0x3ce7a737, 0x3d844038, 0x3f6ee994, 0xbf317f43,
                     0xbf58c7a3, 0x3f7451df, 0xbe21f03b, 0x3ecd6022, 0x3eff6071, 0x3f587ba8}};
const Profile kStock{{.eps = 1e-8, .weight_decay = 0.01},
                     1e-5,
                     {0x3f00b447, 0x3e71986b, 0x3e9dd5bb, 0x3eeee225, 0xbe904604, 0xbf03d1fa,
                      0xbf2bd574, 0xbea1ada6, 0xbf6bab41, 0xbf496f7d, 0xbf24c659, 0xbf1d4b94,
                      0xbce5871c, 0x3edbad3a, 0x3d038ba9, 0x3d897a46, 0x3f701e15, 0xbf30b70e,
                      0xbf57c880, 0x3f74d732, 0xbe223b2a, 0x3ecd1b28, 0x3f0073b7, 0x3f58f7a3}};

HostTensor step_values(const AdamWSettings& adamw, double learning_rate, int64_t step,
                       double max_norm) {
  StepParams params;
  params.set_optimizer(adamw, learning_rate, step, max_norm);
  return {{kStepFloats}, {params.floats.begin(), params.floats.end()}};
}

HostTensor gradient_of_step(int64_t step) {
  HostTensor gradient = random_tensor({24}, static_cast<uint64_t>(99 + step));
  for (double& g : gradient.data) g /= 128;
  return gradient;
}

/// A parameter "w" [24] whose gradient state the host fills in; clipping reads step_f32[kMaxNorm].
Graph optimizer_graph() {
  Graph graph;
  Builder b(graph);
  const ValueId w = b.parameter("w", {24}, DType::f32, true);
  b.parameter("untouched", {3}, DType::f32, true);
  b.state("grad/w", {24});
  EXPECT_EQ(parameters_with_gradients(graph), std::vector<ValueId>{w});
  adamw_step(b, {w}, [](const Value& value) { return value.name == "w"; });
  return graph;
}

class OptimOnDevice : public DeviceTest {
 protected:
  std::vector<bool> paths() {
    return test_device().cpu_path() ? std::vector<bool>{false, true} : std::vector<bool>{true};
  }
};

int64_t ordered_bits(double x) {
  const auto bits = std::bit_cast<int32_t>(static_cast<float>(x));
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : bits;
}

TEST_F(OptimOnDevice, TenStepsEqualTorchToOneUlp) {
  for (const Profile* profile : {&kEps3, &kStock})
    for (const bool gpu_path : paths()) {
      DeviceRun run(optimizer_graph(), gpu_path);
      run.set("w", random_tensor({24}, 1));
      for (int64_t step = 1; step <= 10; ++step) {
        run.set("grad/w", gradient_of_step(step));
        run.set("step_f32", step_values(profile->adamw, profile->learning_rate, step, 0.0));
        run.run();
      }
      const HostTensor w = run.get("w");
      for (size_t i = 0; i < w.data.size(); ++i) {
        const auto torch = std::bit_cast<float>(profile->expected[i]);
        EXPECT_LE(std::abs(ordered_bits(w.data[i]) - ordered_bits(torch)), 1) << i;
      }
    }
}

TEST_F(OptimOnDevice, OneStepMatchesTheInterpreter) {
  for (const int64_t count : {1, 7, 1024}) {
    OpCase test;
    test.build = [count](Builder& b) {
      const ValueId p = b.parameter("p", {count}, DType::f32, true), m = b.state("m", {count});
      const ValueId g = b.input("g", {count}, DType::f32), v = b.state("v", {count});
      const ValueId clip = b.input("clip", {1}, DType::f32);
      const ValueId step = b.input("step_f32", {kStepFloats}, DType::f32);
      ops::adamw(b, p, g, m, v, clip, step, true);
      return std::vector<ValueId>{};
    };
    test.values = {{"p", random_tensor({count}, 1)},
                   {"g", random_tensor({count}, 2)},
                   {"m", random_tensor({count}, 3)},
                   {"v", random_tensor({count}, 4, 0, 1)},
                   {"clip", {{1}, {0.5}}},
                   {"step_f32", step_values({.weight_decay = 0.1}, 1e-2, 3, 0.0)}};
    test.states = {"p", "m", "v"};
    test.ulps = 2;
    check_op(test);
  }
}

OpCase clip_case(double max_norm) {
  OpCase test;
  test.build = [](Builder& b) {
    const std::vector<ValueId> gradients{b.input("a", {3, 5}, DType::f32),
                                         b.input("b", {9001}, DType::f32),
                                         b.input("c", {4096}, DType::f32)};
    ops::clip_gradients(b, gradients, b.input("step_f32", {kStepFloats}, DType::f32));
    return std::vector<ValueId>{};
  };
  test.values = {{"a", random_tensor({3, 5}, 1)},
                 {"b", random_tensor({9001}, 2)},
                 {"c", random_tensor({4096}, 3)},
                 {"step_f32", step_values({}, 1e-3, 1, max_norm)}};
  test.states = {"grad_norm", "clip_coef"};
  test.ulps = 2;
  return test;
}

TEST_F(OptimOnDevice, GradientsAreClippedToTheNorm) {
  check_op(clip_case(1.0));
  check_op(clip_case(0.0));
  check_op(clip_case(1e6));
}

TEST_F(OptimOnDevice, GradientsThatAreNotFiniteChangeNothing) {
  for (const double bad : {std::nan(""), HUGE_VAL, 1e30})
    for (const bool gpu_path : paths()) {
      DeviceRun run(optimizer_graph(), gpu_path);
      const HostTensor before = random_tensor({24}, 1);
      run.set("w", before);
      HostTensor gradient = gradient_of_step(1);
      gradient.data[13] = bad;
      run.set("grad/w", gradient);
      run.set("step_f32", step_values({}, 1e-3, 1, 1.0));
      run.run();
      EXPECT_FALSE(std::isfinite(run.get("grad_norm").data[0]));
      EXPECT_EQ(run.get("clip_coef").data[0], 0);
      EXPECT_EQ(run.get("w").data, before.data);
      EXPECT_EQ(run.get("adam/m/w").data, std::vector<double>(24, 0.0));
    }
}

TEST(Optim, AWindowStartsWithClearedSums) {
  Graph graph;
  Builder b(graph);
  b.state("grad/w", {4});
  b.state("loss_sum", {2});
  b.state("adam/m/w", {4});
  zero_gradients(b);
  Interpreter run(graph);
  for (const char* name : {"grad/w", "adam/m/w"}) run.set(name, {{4}, {1, 2, 3, 4}});
  run.set("loss_sum", {{2}, {5, 6}});
  run.run(Section::zero);
  EXPECT_EQ(run.get("grad/w").data, std::vector<double>(4, 0.0));
  EXPECT_EQ(run.get("loss_sum").data, std::vector<double>(2, 0.0));
  EXPECT_EQ(run.get("adam/m/w").data, (std::vector<double>{1, 2, 3, 4}));
}

TEST(Optim, MoreParametersThanClippingSumsAreRefused) {
  Graph graph;
  Builder b(graph);
  const ValueId gradient = b.state("grad/w", {int64_t{1} << 20, 4097});
  try {
    ops::clip_gradients(b, {gradient}, b.input("step_f32", {kStepFloats}, DType::f32));
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("4294967296 trainable parameters"), std::string::npos) << error.what();
  }
}

TEST(Optim, StepParamsAreRoundedOnce) {
  StepParams params;
  params.set_optimizer({.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01}, 1e-3, 2,
                       1.0);
  EXPECT_EQ(params.floats[kStepSize], static_cast<float>(1e-3 / (1 - 0.9 * 0.9)));
  EXPECT_EQ(params.floats[kBias2Sqrt], static_cast<float>(std::sqrt(1 - 0.999 * 0.999)));
  EXPECT_EQ(params.floats[kDecay], static_cast<float>(1 - 1e-3 * 0.01));
  EXPECT_EQ(params.ints[kStep], 2);
  params.set_loss_scale(0);
  EXPECT_EQ(params.floats[kLossScale], 0);
  params.set_seed(0x123456789abcdef0);
  EXPECT_EQ(static_cast<uint32_t>(params.ints[kSeedLo]), 0x9abcdef0u);
  EXPECT_EQ(params.ints[kSeedHi], 0x12345678);
}

}  // namespace
}  // namespace lemnos::test
