// Which calls become one. No device: addresses are numbers.
#include <gtest/gtest.h>

#include <cstring>

#include "ops/optim/adamw.params.h"
#include "runtime/record_call.h"
#include "support/toy_families.h"
#include "support/toy_steps.h"

namespace lemnos::test {
namespace {

/// adamw on `count` elements, its parameter, gradient and moments at these addresses.
KernelCall adamw(uint32_t count, uint32_t decay = 1) {
  AdamWParams params{};
  params.count = count;
  params.decay = decay;
  std::vector<BufferRef> buffers;
  for (uint32_t i = 0; i < 9; ++i) buffers.push_back({{i}});
  KernelCall call = kernel("adamw", params, buffers, flat_groups(count / 4, 64));
  call.flat = {offsetof(AdamWParams, count), 256, {4, 4, 4, 4, 4, 4, 4, 0, 0}};
  return call;
}

/// Buffer i of all calls lies from i * 2^36 on, these bytes further for the ones that have elements of their own.
BoundCall at(const KernelCall& call, uint64_t bytes, uint64_t more_in_gradient = 0) {
  return bind(call, [&](const BufferRef& ref) {
    const uint32_t i = ref.value.index;
    return (uint64_t{i} << 36) + (i < 7 ? bytes : 0) + (i == 1 ? more_in_gradient : 0);
  });
}

uint32_t count_of(const BoundCall& call) {
  AdamWParams params;
  std::memcpy(&params, call.push.data(), sizeof params);
  return params.count;
}

TEST(Joined, RangesThatFollowOnEachOtherAreOneInWhateverOrderTheyCome) {
  const KernelCall first = adamw(1024), second = adamw(512), third = adamw(64);
  const std::vector<BoundCall> result = joined({at(second, 4096), at(third, 6144), at(first, 0)});
  ASSERT_EQ(result.size(), 1u);
  EXPECT_EQ(count_of(result[0]), 1600u);
  EXPECT_EQ(result[0].groups, flat_groups(1600, 256));
  EXPECT_EQ(std::memcmp(result[0].push.data(), at(first, 0).push.data(), 72), 0);  // the first's addresses
}

TEST(Joined, WhatDiffersInMoreThanTheRangeStaysApart) {
  const KernelCall call = adamw(1024), other = adamw(1024, 0);
  EXPECT_EQ(joined({at(call, 0), at(other, 4096)}).size(), 2u) << "other constants";
  EXPECT_EQ(joined({at(call, 0), at(call, 4352)}).size(), 2u) << "a gap";
  EXPECT_EQ(joined({at(call, 0), at(call, 4096, 256)}).size(), 2u) << "a gap in one buffer alone";
  EXPECT_EQ(joined({at(call, 0), at(call, 2048)}).size(), 2u) << "overlapping";
  KernelCall whole = call;
  whole.flat = {};
  EXPECT_EQ(joined({at(whole, 0), at(whole, 4096)}).size(), 2u) << "a call that is not flat";
  KernelCall elsewhere = call;
  elsewhere.shader = "another";
  EXPECT_EQ(joined({at(call, 0), at(elsewhere, 4096)}).size(), 2u) << "another kernel";
}

TEST(Joined, NoRangeGrowsBeyondWhatAKernelIndexes) {
  const KernelCall half = adamw(1u << 30);
  EXPECT_EQ(joined({at(half, 0), at(half, uint64_t{4} << 30)}).size(), 2u);
}

TEST(Joined, CallsOfTwoKindsAreJoinedEachWithItsOwn) {
  const KernelCall decays = adamw(64), does_not = adamw(64, 0);
  EXPECT_EQ(joined({at(decays, 0), at(does_not, 8192), at(decays, 256), at(does_not, 8448)}).size(), 2u);
}

class JoinedPrograms : public DeviceTest {};

TEST_F(JoinedPrograms, TheOptimizerTakesMatricesOfFullTrainingTogether) {
  for (const EngineSetup& setup : toy_setups({{1, 8, 4}})) {
    if (setup.lora) continue;  // matrices of a few hundred bytes, with gaps between them
    const auto engine = toy_engine(setup);
    toy_step(*engine, {toy_batch(1, 8, 1)}, 1);
    int64_t trained = 0;
    for (const ValueId id : engine->graph().of_kind(ValueKind::parameter)) trained += engine->graph()[id].trainable ? 1 : 0;
    const Program& program = *engine->last_program();
    EXPECT_LT(program.dispatch_count(Section::zero), trained) << name_of(setup);
    EXPECT_LT(program.dispatch_count(Section::update), 2 * trained) << name_of(setup);  // a sum of squares for each
  }
}

}  // namespace
}  // namespace lemnos::test
