#include "train/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "train/schedule_reference.h"

namespace lemnos::train {
namespace {

TEST(Schedule, EqualsTransformers) {
  for (const ScheduleReference& reference : kScheduleReferences) {
    EXPECT_EQ(steps_of(reference.warmup, reference.total_steps), reference.warmup_steps);
    const LrSchedule schedule{reference.type, reference.learning_rate, reference.warmup_steps,
                              reference.total_steps};
    for (const auto& [step, rate] : reference.rates)
      EXPECT_DOUBLE_EQ(schedule.at(step), rate)
          << "step " << step << " of " << reference.total_steps;
  }
}

TEST(Schedule, PartsOfTheRunAreRoundedUp) {
  EXPECT_EQ(steps_of(0, 100), 0);
  EXPECT_EQ(steps_of(0.03, 100), 3);
  EXPECT_EQ(steps_of(0.031, 100), 4);
  EXPECT_EQ(steps_of(0.1, 7), 1);
  EXPECT_EQ(steps_of(5, 3), 5);
}

TEST(Schedule, StepsComeFromMaxStepsElseFromEpochs) {
  EXPECT_EQ(total_steps_of(7, 3, 100), 7);
  EXPECT_EQ(total_steps_of(-1, 3, 100), 300);
  EXPECT_EQ(total_steps_of(-1, 0.5, 5), 3);
  EXPECT_EQ(total_steps_of(-1, 0.01, 5), 1);
}

TEST(Schedule, EpochsAreCappedAsMaxStepsIs) {
  EXPECT_EQ(total_steps_of(-1, 1e9, 1), kMostSteps);
  EXPECT_EQ(total_steps_of(kMostSteps, 1e9, 4), kMostSteps) << "max_steps wins";
  try {
    total_steps_of(-1, 1e9, 4);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(std::string(error.what()),
              "num_train_epochs is 1000000000, which are 4000000000 steps, as an epoch of this data has 4; a run has at most 1000000000");
  }
}

}  // namespace
}  // namespace lemnos::train
