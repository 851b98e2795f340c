// What must hold for any planned training graph: the plan decides where things are and when they are
// recorded, never a bit of what is learned. (Resume = uninterrupted: tests/train/session_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/toy_steps.h"

namespace lemnos::test {
namespace {

constexpr int64_t kRows = 2, kShort = 6, kLong = 9;

EngineSetup toy_setup(bool lora) {
  EngineSetup setup{.model = toy_model(), .buckets = {{kRows, kShort, 2 * kRows}, {kRows, kLong, 2 * kRows}}};
  if (lora)
    setup.lora = LoraConfig{.r = 2, .lora_alpha = 4, .lora_dropout = 0.1, .target_modules = {std::string("all-linear")}};
  return setup;
}

/// The same graphs with every value in a place of its own.
EnginePlan without_sharing(EnginePlan plan, const DeviceProfile& device) {
  std::vector<const ArenaPlan*> arenas;
  for (PlannedGraph& planned : plan.training) {
    planned.arena = plan_arena(planned.graph, {.max_block_bytes = device.max_allocation_bytes, .alias = false});
    arenas.push_back(&planned.arena);
  }
  plan.arena = merge_arenas(arenas);
  return plan;
}

data::Batch one_row(const data::Batch& batch, int64_t row) {
  data::Batch one{.rows = 1, .length = batch.length};
  for (auto member : {&data::Batch::input_ids, &data::Batch::labels, &data::Batch::positions, &data::Batch::segments}) {
    const auto first = (batch.*member).begin() + row * batch.length;
    (one.*member).assign(first, first + batch.length);
  }
  return one;
}

class PlanInvariants : public DeviceTest {
 protected:
  DeviceProfile profile() { return profile_of(device()); }

  /// Both buckets in one window.
  static std::vector<data::Batch> window(int32_t number) {
    return {toy_batch(kRows, kShort, number), toy_batch(kRows, kLong, number + 1)};
  }

  static Snapshot after_step(Engine& engine, int32_t number) {
    toy_step(engine, window(3 * number), number);
    return snapshot(engine);
  }
};

/// Host memory that devices without mapped memory also need; no part of the plan.
uint64_t staged_bytes(Engine& engine) {
  const vk::Buffer* staging = engine.storage().input_staging();
  return staging == nullptr ? 0 : staging->size();
}

TEST_F(PlanInvariants, NeitherSharedMemoryNorAnotherRunNorAnotherRecordingChangesABit) {
  for (const bool lora : {false, true}) {
    const EngineSetup setup = toy_setup(lora);
    const EnginePlan plan = plan_engine(setup, profile()), apart = without_sharing(plan, profile());
    EXPECT_LT(plan.peak_bytes(), apart.peak_bytes());

    const auto first = toy_engine(setup, plan);
    const Snapshot start = snapshot(*first), between = after_step(*first, 1), end = after_step(*first, 2);
    expect_trained(start, end, first->graph());
    restore(*first, start);
    expect_same(between, after_step(*first, 1));

    const auto fresh = toy_engine(setup, plan);
    restore(*fresh, between);
    expect_same(end, after_step(*fresh, 2));

    const auto alone = toy_engine(setup, apart);
    expect_same(between, after_step(*alone, 1));
    expect_same(end, after_step(*alone, 2));
  }
}

TEST_F(PlanInvariants, WhatThePlanCommandSaysIsAllocatedToTheByte) {
  const train::ToyFolder toy;
  for (const train::TrainConfig& config : {toy.config("full"), toy.lora("lora")}) {
    const Json printed = to_json(train::plan_training(config, profile()));
    int64_t sum = 0;
    for (const auto& [kind, bytes] : printed.at("by_kind").as_object()) sum += bytes.as_integer();
    EXPECT_EQ(sum, printed.at("peak_bytes").as_integer());
    const train::Prepared prepared = train::prepare(config, train::Purpose::plan);
    const uint64_t before = device().memory_use().requested;
    Engine engine(device(), prepared.setup, plan_engine(prepared.setup, profile()));
    EXPECT_EQ(device().memory_use().requested - before - staged_bytes(engine),
              static_cast<uint64_t>(printed.at("peak_bytes").as_integer()));
  }
}

float largest_of(const std::vector<float>& values) {
  float largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(x));
  return largest;
}

TEST_F(PlanInvariants, OneMicroBatchIsTwoHalvesAccumulated) {
  for (const bool lora : {false, true}) {
    EngineSetup whole = toy_setup(lora), halves = whole;
    if (lora) whole.lora->lora_dropout = halves.lora->lora_dropout = 0;  // keyed by micro-batch
    whole.buckets = {{kRows, kLong, 2 * kRows}};
    halves.buckets = {{1, kLong, 2}};
    const auto together = toy_engine(whole), apart = toy_engine(halves);
    const data::Batch batch = toy_batch(kRows, kLong, 1);
    data::Batch first = one_row(batch, 0), second = one_row(batch, 1);
    first.supervised = batch.supervised;  // only their sum counts
    toy_step(*together, {batch}, 1);
    toy_step(*apart, {first, second}, 1);
    EXPECT_NEAR(together->result().loss_sum, apart->result().loss_sum, 1e-5);
    int compared = 0;
    for (const auto& [name, place] : together->storage().plan().places) {
      if (!name.starts_with("grad/")) continue;
      const std::vector<float> a = floats_of(*together, name), b = floats_of(*apart, name);
      const float largest = largest_of(a);
      ASSERT_GT(largest, 0) << name;
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], std::ldexp(largest, -19)) << name << " " << i;
      ++compared;
    }
    EXPECT_EQ(compared, lora ? 2 * 2 * 7 : 2 * 9 + 3);
  }
}

}  // namespace
}  // namespace lemnos::test
