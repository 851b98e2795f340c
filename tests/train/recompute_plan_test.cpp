// What `auto` chooses: nothing, the cheapest that fits, or all there is.
#include "train/recompute_plan.h"

#include <gtest/gtest.h>

#include "support/toy_families.h"
#include "train/memory_limit.h"

namespace lemnos::test {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

EnginePlan plan_within(EngineSetup setup, int64_t bytes) {
  setup.checkpointing = Checkpointing::when_needed;
  setup.memory_limit = bytes;
  return plan_engine(setup, {});
}

std::string printed(const EnginePlan& plan) {
  std::string text;
  for (const PlannedGraph& planned : plan.training) text += to_string(planned.graph);
  return text;
}

TEST(RecomputePlan, WhatFitsIsLeftAsItIs) {
  for (const EngineSetup& setup : toy_setups({{2, 8, 4}, {2, 16, 4}})) {
    const EnginePlan kept = plan_engine(setup, {});
    for (const int64_t limit : {int64_t{0}, kept.peak_bytes(), kept.peak_bytes() + 1}) {
      const EnginePlan plan = plan_within(setup, limit);
      EXPECT_EQ(plan.peak_bytes(), kept.peak_bytes()) << name_of(setup);
      EXPECT_EQ(printed(plan), printed(kept)) << name_of(setup);
      EXPECT_EQ(to_string(plan.recomputed()), "") << name_of(setup);
    }
  }
}

/// From above to below what is possible: every limit that can be kept is, with no more steps than a
/// tighter one takes, and no layer is whole before all that is cheap is made again.
TEST(RecomputePlan, EachLimitTakesTheFewestStepsThatFit) {
  for (const EngineSetup& setup : toy_setups({{2, 32, 4}})) {
    const int64_t most = plan_engine(setup, {}).peak_bytes(), least = plan_within(setup, 1).peak_bytes();
    ASSERT_LT(least, most) << name_of(setup);
    int64_t steps = 0, layers = 0;
    double share = 0;
    for (int i = 0; i <= 16; ++i) {
      const int64_t limit = most - (most - least) * i / 16;
      const EnginePlan plan = plan_within(setup, limit);
      EXPECT_LE(plan.peak_bytes(), limit) << name_of(setup) << " " << i;
      EXPECT_GE(plan.recomputed().steps, steps) << name_of(setup) << " " << i;
      EXPECT_GE(plan.recomputed().layers, layers) << name_of(setup) << " " << i;
      EXPECT_GE(plan.recomputed().share, share) << name_of(setup) << " " << i;
      steps = plan.recomputed().steps;
      layers = plan.recomputed().layers;
      share = plan.recomputed().share;
    }
    EXPECT_GT(share, 0) << name_of(setup);
    EXPECT_EQ(plan_within(setup, least - 1).peak_bytes(), least) << name_of(setup);
  }
}

TEST(RecomputePlan, ABucketThatFitsKeepsItsActivations) {
  const EngineSetup setup = toy_setups({{2, 8, 4}, {2, 64, 4}}).front();
  const EnginePlan kept = plan_engine(setup, {}), plan = plan_within(setup, kept.peak_bytes() - 1);
  EXPECT_EQ(plan.training[0].recomputed.steps, 0);
  EXPECT_GT(plan.training[1].recomputed.steps, 0);
  EXPECT_LT(plan.peak_bytes(), kept.peak_bytes());
}

TEST(RecomputePlan, EveryLayerIsWhatAutoEndsWith) {
  for (EngineSetup& setup : toy_setups({{2, 32, 4}})) {
    setup.checkpointing = Checkpointing::every_layer;
    const EnginePlan layers = plan_engine(setup, {});
    EXPECT_EQ(layers.recomputed().layers, 2) << name_of(setup);
    EXPECT_TRUE(layers.recomputed().ops.empty()) << name_of(setup);
    EXPECT_EQ(printed(layers), printed(plan_within(setup, 1))) << name_of(setup);
  }
}

/// Qwen2.5-0.5B, the shapes and bounds that the measurements are made with.
TEST(RecomputePlan, FitsTheMeasuredWorksIntoTheirBounds) {
  struct Work {
    int64_t rows, length, lora_r;
    double gib;
    double most_share;
  };
  const ModelConfig model = read_model_config(LEMNOS_SOURCE_TREE "/bench/shapes/qwen2.5-0.5b.json");
  for (const Work& work : {Work{4, 1024, 16, 8.5, 0}, Work{8, 2048, 16, 24, 0}, Work{4, 1024, 0, 12.4, 0.03}}) {
    EngineSetup setup{.model = model, .buckets = {{work.rows, work.length, work.rows}},
                      .checkpointing = Checkpointing::when_needed,
                      .memory_limit = static_cast<int64_t>(work.gib * static_cast<double>(kGiB))};
    if (work.lora_r > 0) setup.lora = LoraConfig{.r = work.lora_r, .lora_alpha = 32, .target_modules = {std::string("all-linear")}};
    const EnginePlan plan = plan_engine(setup, {.max_allocation_bytes = 4 * kGiB});
    EXPECT_LE(plan.peak_bytes(), setup.memory_limit) << work.rows << "x" << work.length;
    EXPECT_LE(plan.recomputed().share, work.most_share) << to_string(plan.recomputed());
    EXPECT_GT(plan.recomputed().ops.at("swiglu"), 0);
  }
}

std::string refusal(const train::TrainConfig& config, const EngineSetup& toy) {
  const DeviceProfile device{.name = "toy card", .memory_bytes = 2000};
  EngineSetup setup = toy;
  setup.checkpointing = train::checkpointing_of(config);
  setup.memory_limit = train::memory_limit_of(config, device);
  return train::why_too_large(plan_engine(setup, device), config, device).value_or("");
}

TEST(RecomputePlan, ARefusalSaysWhatWasTried) {
  const EngineSetup setup = toy_setups({{2, 8, 4}}).front();
  train::TrainConfig config;
  EXPECT_NE(refusal(config, setup).find("although every layer's activations are made again"), std::string::npos);
  EXPECT_NE(refusal(config, setup).find("toy card has 1.95 KiB"), std::string::npos) << refusal(config, setup);
  config.gradient_checkpointing = false;
  EXPECT_EQ(refusal(config, setup).find("made again"), std::string::npos);
  EXPECT_NE(refusal(config, setup).find("leave gradient_checkpointing to auto"), std::string::npos);
  config.memory_limit = train::ByteSize{kGiB};
  EXPECT_EQ(refusal(config, setup), "");
}

}  // namespace
}  // namespace lemnos::test
