// Activations made again or kept: the same bits of every loss, gradient, moment and parameter.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/toy_families.h"
#include "support/toy_steps.h"

namespace lemnos::test {
namespace {

constexpr int64_t kRows = 2, kShort = 6, kLong = 9;

class RecomputeBits : public DeviceTest {
 protected:
  DeviceProfile profile() { return profile_of(device()); }

  /// After two steps, each of a padded and a packed micro-batch of different lengths.
  Snapshot after_two_steps(const EngineSetup& setup, EnginePlan plan) {
    const auto engine = toy_engine(setup, std::move(plan), {.gpu_path = gpu_path_, .pipelines = pipelines_});
    const Snapshot start = snapshot(*engine);
    for (const int32_t step : {1, 2})
      toy_step(*engine, {toy_batch(kRows, kShort, step), toy_batch(kRows, kLong, step + 5, /*packed=*/true)}, step);
    const Snapshot end = snapshot(*engine);
    expect_trained(start, end, engine->graph());
    return end;
  }

  void expect_bits_of_keeping_everything();

  bool gpu_path_ = false;
  std::shared_ptr<vk::PipelineCache> pipelines_ = std::make_shared<vk::PipelineCache>(device());
};

EnginePlan within(EngineSetup setup, int64_t bytes, const DeviceProfile& profile) {
  setup.checkpointing = Checkpointing::when_needed;
  setup.memory_limit = bytes;
  return plan_engine(setup, profile);
}

void RecomputeBits::expect_bits_of_keeping_everything() {
  for (EngineSetup& setup : toy_setups({{kRows, kShort, 3 * kRows}, {kRows, kLong, 3 * kRows}})) {
    const EnginePlan kept = plan_engine(setup, profile());
    const Snapshot expected = after_two_steps(setup, kept);

    const EnginePlan cheap = within(setup, kept.peak_bytes() - 1, profile());
    EXPECT_EQ(cheap.recomputed().share, 0) << name_of(setup);
    EXPECT_GT(cheap.recomputed().steps, 0) << name_of(setup);
    expect_same(expected, after_two_steps(setup, cheap), name_of(setup) + " cheap");

    setup.checkpointing = Checkpointing::every_layer;
    const EnginePlan layers = plan_engine(setup, profile());
    EXPECT_EQ(layers.recomputed().layers, 2) << name_of(setup);
    EXPECT_LT(layers.peak_bytes(), cheap.peak_bytes()) << name_of(setup);
    expect_same(expected, after_two_steps(setup, layers), name_of(setup) + " layers");

    const EnginePlan between = within(setup, (cheap.peak_bytes() + layers.peak_bytes()) / 2, profile());
    EXPECT_LT(between.recomputed().layers, 2) << name_of(setup);
    EXPECT_GT(between.recomputed().steps, cheap.recomputed().steps) << name_of(setup);
    expect_same(expected, after_two_steps(setup, between), name_of(setup) + " between");
  }
}

TEST_F(RecomputeBits, AreThoseOfKeepingEverything) {
  expect_bits_of_keeping_everything();
  // A processor takes minutes to compile the GPU's kernels: in scripts/nightly.
  gpu_path_ = device().cpu_path() && std::getenv("LEMNOS_NIGHTLY") != nullptr;
  if (gpu_path_) expect_bits_of_keeping_everything();
}

}  // namespace
}  // namespace lemnos::test
