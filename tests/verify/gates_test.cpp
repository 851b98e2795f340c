// The gates of docs/numerics.md, each just inside and just outside of its bound.
#include "verify/gates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lemnos {
namespace {

constexpr double kLimit = 2e-7;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Figures of a tensor of 100 elements whose errors are all within what HF's are.
TensorFigures figures(const std::string& name) {
  return {.name = name,
          .max_abs_vs_hf = 1e-8,
          .max_abs_vs_truth = 1e-8,
          .rms_vs_truth = 5e-9,
          .hf_max_abs_vs_truth = 1e-8,
          .hf_rms_vs_truth = 5e-9,
          .elements = 100,
          .has_truth = true};
}

KindFigures judged(const TensorFigures& tensor, const GateContext& context) {
  const auto kinds = judge(std::vector<TensorFigures>{tensor}, context);
  EXPECT_EQ(kinds.size(), 1u);
  return kinds.front();
}

double just_over(double x) { return std::nextafter(x, HUGE_VAL); }

TEST(Gates, TheAbsoluteGateIsTwoInTenMillion) {
  TensorFigures f = figures("grad/w");
  f.max_abs_vs_hf = kLimit;
  EXPECT_EQ(judged(f, {.tiny = true}).gate1, true);
  f.max_abs_vs_hf = just_over(kLimit);
  EXPECT_EQ(judged(f, {.tiny = true}).gate1, false);
  EXPECT_EQ(judged(f, {.tiny = true}).gate2, true) << "it looks at the truth only";
}

TEST(Gates, TheAbsoluteGateIsForTinyFixturesAndTheirProfileOnly) {
  TensorFigures f = figures("logits");
  f.max_abs_vs_hf = 1;
  EXPECT_EQ(judged(f, {.tiny = false}).gate1, std::nullopt);
  EXPECT_EQ(judged(f, {.tiny = true, .stock = true}).gate1, std::nullopt);
  EXPECT_EQ(judged(f, {.tiny = true}).gate1, false);
  f.has_truth = false;
  EXPECT_EQ(judged(f, {.tiny = false}).gate2, std::nullopt);
}

TEST(Gates, TheRmsErrorIsAtMostTwiceHfs) {
  TensorFigures f = figures("grad/w");
  f.rms_vs_truth = 2 * f.hf_rms_vs_truth;
  EXPECT_EQ(judged(f, {}).gate2, true);
  f.rms_vs_truth = just_over(f.rms_vs_truth);
  EXPECT_EQ(judged(f, {}).gate2, false);
}

TEST(Gates, TheLargestErrorIsAtMostThreeTimesHfsOrOneUlp) {
  TensorFigures f = figures("step1/w");
  f.max_abs_vs_truth = 3 * f.hf_max_abs_vs_truth;
  EXPECT_EQ(judged(f, {}).gate2, true);
  f.max_abs_vs_truth = just_over(f.max_abs_vs_truth);
  EXPECT_EQ(judged(f, {}).gate2, false);
  f.one_ulp = f.max_abs_vs_truth;
  EXPECT_EQ(judged(f, {}).gate2, true);
}

/// HF's largest error is that of the kind; the ULP is the tensor's own.
TEST(Gates, OneKindIsJudgedOverAllItsTensors) {
  TensorFigures a = figures("grad/a"), b = figures("grad/b");
  a.elements = 300;
  a.rms_vs_truth = 0;
  a.hf_rms_vs_truth = b.hf_rms_vs_truth = std::ldexp(1, -27);
  b.rms_vs_truth = std::ldexp(1, -25);  // over both: sqrt(100/400) * 4 = 2 times HF's
  b.hf_max_abs_vs_truth = 0;
  b.max_abs_vs_truth = 3 * a.hf_max_abs_vs_truth;
  b.max_abs_vs_hf = 3e-8;
  const auto kinds = judge(std::vector<TensorFigures>{a, figures("logits"), b}, {});
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].kind, "grad");
  EXPECT_EQ(kinds[0].worst_tensor, "grad/b");
  EXPECT_EQ(kinds[0].gate2, true);
  a.elements = 299;
  EXPECT_EQ(judge(std::vector<TensorFigures>{a, b}, {})[0].gate2, false);
}

TEST(Gates, StockStepsCountWhatIsOff) {
  const GateContext stock{.stock = true, .learning_rate = 1e-5};
  TensorFigures f = figures("step2/w");
  f.max_abs_vs_truth = 1e-5;  // a thousand times HF's: a lottery, and no failure
  for (const auto& [hf_off, allowed] : {std::pair{0, 4}, {2, 4}, {3, 6}, {40, 80}}) {
    f.hf_off = hf_off;
    f.off = allowed;
    EXPECT_EQ(judged(f, stock).gate2, true) << hf_off;
    f.off = allowed + 1;
    EXPECT_EQ(judged(f, stock).gate2, false) << hf_off;
  }
}

TEST(Gates, StockStepsHaveAHardCap) {
  const GateContext stock{.stock = true, .learning_rate = 1e-5};
  for (const int steps : {1, 2, 10}) {
    TensorFigures f = figures("step" + std::to_string(steps) + "/w");
    f.off = 1;
    f.max_abs_vs_truth = 2 * 1e-5 * steps;
    EXPECT_EQ(judged(f, stock).gate2, true) << steps;
    f.max_abs_vs_truth = just_over(f.max_abs_vs_truth);
    EXPECT_EQ(judged(f, stock).gate2, false) << steps;
  }
}

TEST(Gates, StockStepsKeepTheRmsRuleAndItsLogitsEveryRule) {
  const GateContext stock{.stock = true, .learning_rate = 1e-5};
  TensorFigures step = figures("step1/w");
  step.rms_vs_truth = just_over(2 * step.hf_rms_vs_truth);
  EXPECT_EQ(judged(step, stock).gate2, false);
  TensorFigures logits = figures("logits");
  logits.max_abs_vs_truth = just_over(3 * logits.hf_max_abs_vs_truth);
  EXPECT_EQ(judged(logits, stock).gate2, false);
}

TEST(Gates, TheOptimizerAloneIsWithinOneUlp) {
  TensorFigures f = figures("step10/w");
  f.max_ulp = 1;
  EXPECT_EQ(judged(f, {.optimizer_alone = true}).gate1, true);
  EXPECT_EQ(judged(f, {.optimizer_alone = true}).gate2, std::nullopt);
  f.max_ulp = just_over(1);
  EXPECT_EQ(judged(f, {.optimizer_alone = true}).gate1, false);
}

TEST(Gates, NearZeroTheOptimizerIsHeldToTwiceTorchsOwnError) {
  const GateContext near_zero{.tiny = true, .optimizer_alone = true, .near_zero = true};
  TensorFigures f = figures("step10/w");
  f.max_ulp = 1e6;  // of parameters that are all but zero
  f.one_ulp = 1;
  f.rms_vs_truth = 2 * f.hf_rms_vs_truth;
  f.max_abs_vs_truth = 2 * f.hf_max_abs_vs_truth;
  EXPECT_EQ(judged(f, near_zero).gate1, std::nullopt);
  EXPECT_EQ(judged(f, near_zero).gate2, true);
  TensorFigures rms = f, largest = f, nothing = f;
  rms.rms_vs_truth = just_over(rms.rms_vs_truth);
  EXPECT_EQ(judged(rms, near_zero).gate2, false);
  largest.max_abs_vs_truth = just_over(largest.max_abs_vs_truth);
  EXPECT_EQ(judged(largest, near_zero).gate2, false) << "one ULP of the largest is no excuse here";
  nothing.has_truth = false;
  EXPECT_EQ(judged(nothing, near_zero).gate2, false);
}

TEST(Figures, AreTakenElementByElement) {
  const TensorFigures f = figures_of({.name = "grad/w", .ours = {1, 2.5f, -4}, .hf = {1, 2, -4}, .truth = {1, 2, -4.5}});
  EXPECT_DOUBLE_EQ(f.max_abs_vs_hf, 0.5);
  EXPECT_DOUBLE_EQ(f.max_abs_vs_truth, 0.5);
  EXPECT_DOUBLE_EQ(f.hf_max_abs_vs_truth, 0.5);
  EXPECT_DOUBLE_EQ(f.rms_vs_truth, std::sqrt(0.5 / 3));
  EXPECT_DOUBLE_EQ(f.hf_rms_vs_truth, std::sqrt(0.25 / 3));
  EXPECT_EQ(f.off, 2);
  EXPECT_EQ(f.hf_off, 1);
  EXPECT_DOUBLE_EQ(f.one_ulp, std::ldexp(1, -21));  // of 4.5
  EXPECT_DOUBLE_EQ(f.max_ulp, 0.5 / std::ldexp(1, -22));  // of 2
}

TEST(Figures, OffIsMoreThanTwoInTenMillionFromTheTruth) {
  const TensorFigures f = figures_of({.name = "step1/w", .ours = {0, 0}, .hf = {0, 0}, .truth = {kLimit, just_over(kLimit)}});
  EXPECT_EQ(f.off, 1);
  EXPECT_EQ(f.hf_off, 1);
}

TEST(Figures, HiddenTokensDoNotCount) {
  const TensorFigures f = figures_of(
      {.name = "logits", .ours = {1, kNaN}, .hf = {1, 2}, .truth = {1, 2}, .counted = {true, false}});
  EXPECT_TRUE(f.finite);
  EXPECT_EQ(f.elements, 1);
  EXPECT_EQ(f.max_abs_vs_hf, 0);
}

TEST(Figures, WhatIsNotANumberIsRedInEveryGate) {
  for (const float bad : {kNaN, kInfinity, -kInfinity})
    for (const bool optimizer_alone : {false, true}) {
      const TensorFigures f = figures_of({.name = "step1/w", .ours = {1, bad, 1}, .hf = {1, 1, 1}, .truth = {1, 1, 1}});
      EXPECT_TRUE(std::isinf(f.max_abs_vs_hf)) << bad;
      EXPECT_TRUE(std::isinf(f.max_abs_vs_truth)) << bad;
      for (const bool stock : {false, true}) {
        const KindFigures kind =
            judged(f, {.tiny = true, .stock = stock, .optimizer_alone = optimizer_alone, .learning_rate = 1e-5});
        EXPECT_NE(kind.gate1, true) << bad;
        EXPECT_NE(kind.gate2, true) << bad;
        EXPECT_TRUE(kind.gate1 == false || kind.gate2 == false) << bad;
      }
    }
}

}  // namespace
}  // namespace lemnos
