#include "data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "data/batch.h"
#include "base/philox.h"
#include "data/random.h"

namespace lemnos::data {
namespace {

Dataset dataset_of_lengths(const std::vector<int64_t>& lengths) {
  Dataset dataset;
  dataset.report.files = {"rows.jsonl"};
  for (int64_t length : lengths) {
    Example example;
    for (int64_t t = 0; t < length; ++t) example.ids.push_back(static_cast<int32_t>(t % 7));
    example.labels = example.ids;
    example.supervised = count_supervised(example.labels);
    example.line = std::ssize(dataset.examples) + 1;
    dataset.examples.push_back(std::move(example));
  }
  return dataset;
}

/// Lengths from a stream of ours, so that the test is the same everywhere.
Dataset random_dataset(uint64_t seed, int64_t rows, uint64_t longest) {
  RandomStream random(seed, 99);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < rows; ++i)
    lengths.push_back(2 + static_cast<int64_t>(random.below(longest - 1)));
  return dataset_of_lengths(lengths);
}

SamplerOptions small_buckets(int64_t rows, int64_t window, uint64_t seed = 42) {
  return {rows, window, seed, true, {8, 3}};
}

std::vector<std::vector<int64_t>> rows_of(const Window& window) {
  std::vector<std::vector<int64_t>> rows;
  for (const BatchPlan& batch : window.batches) rows.push_back(batch.examples);
  return rows;
}

TEST(Random, PhiloxGivesThePublishedAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  RandomStream random(1, 2);
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(*seen.rbegin(), 6u);
}

TEST(Buckets, FewestPaddedTokensThenFewestBuckets) {
  using Lengths = std::vector<int64_t>;
  EXPECT_EQ(choose_buckets(Lengths{3}, 1, {64, 4}), (Lengths{64}));
  EXPECT_EQ(choose_buckets(Lengths{64, 65}, 1, {64, 4}), (Lengths{64, 128}));
  EXPECT_EQ(choose_buckets(Lengths{10, 100, 500, 1000, 60, 120}, 1, {64, 4}),
            (Lengths{64, 128, 512, 1024}));
  EXPECT_EQ(choose_buckets(Lengths(100, 1000), 4, {64, 4}), (Lengths{1024}));
  EXPECT_EQ(choose_buckets(Lengths{10, 100, 200}, 8, {64, 4}), (Lengths{256}))
      << "one batch of three rows beats three batches of one";
  const Lengths buckets = {64, 128};
  EXPECT_EQ(bucket_index(buckets, 64), 0u);
  EXPECT_EQ(bucket_index(buckets, 65), 1u);
  EXPECT_THROW(bucket_index(buckets, 129), InternalError);
}

TEST(Sampler, EachEpochHoldsEachRowOnceAndKeepsTheStepCount) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto rows = static_cast<int64_t>(1 + 5 * seed);
    const Dataset dataset = random_dataset(seed, rows, 40);
    Sampler sampler(dataset, small_buckets(1 + static_cast<int64_t>(seed % 4), 3, seed));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::multiset<int64_t> seen;
      for (int64_t step = 0; step < sampler.windows_per_epoch(); ++step, sampler.advance()) {
        ASSERT_EQ(sampler.epoch(), epoch);
        for (const BatchPlan& batch : sampler.window().batches) {
          ASSERT_FALSE(batch.examples.empty());
          seen.insert(batch.examples.begin(), batch.examples.end());
        }
      }
      EXPECT_EQ(std::ssize(seen), rows);
      EXPECT_EQ(std::set<int64_t>(seen.begin(), seen.end()).size(), seen.size());
    }
    EXPECT_DOUBLE_EQ(sampler.epochs_done(), 3.0);
  }
}

TEST(Sampler, BatchesAreOfOneBucketAndWindowsCountTheirTargets) {
  const Dataset dataset = random_dataset(3, 50, 60);
  Sampler sampler(dataset, small_buckets(4, 3));
  for (int step = 0; step < 20; ++step, sampler.advance()) {
    int64_t supervised = 0;
    for (const BatchPlan& plan : sampler.window().batches) {
      EXPECT_TRUE(
          std::binary_search(sampler.buckets().begin(), sampler.buckets().end(), plan.length));
      const Batch batch = make_batch(dataset, plan, 4);
      const std::vector<int32_t> targets = targets_of(batch);
      EXPECT_EQ(std::count_if(targets.begin(), targets.end(), [](int32_t t) { return t >= 0; }),
                batch.supervised);
      supervised += batch.supervised;
    }
    EXPECT_EQ(sampler.window().supervised, supervised);
  }
}

TEST(Sampler, TheOrderIsTheSameOnEveryMachine) {
  const Dataset dataset = dataset_of_lengths({5, 9, 3, 17, 8, 4, 12, 6});
  Sampler sampler(dataset, {2, 2, 42, true, {8, 2}});
  std::vector<std::vector<std::vector<int64_t>>> windows;
  for (int i = 0; i < 3; ++i, sampler.advance()) windows.push_back(rows_of(sampler.window()));
  const std::vector<std::vector<std::vector<int64_t>>> expected = {
      {{0, 7}, {5}}, {{6, 1}, {2, 4}}, {{3}}};
  EXPECT_EQ(windows, expected);
}

TEST(Sampler, SeedsAndEpochsGiveDifferentOrders) {
  const Dataset dataset = dataset_of_lengths(std::vector<int64_t>(64, 5));
  Sampler first(dataset, small_buckets(64, 1, 1));
  Sampler second(dataset, small_buckets(64, 1, 2));
  EXPECT_NE(rows_of(first.window()), rows_of(second.window()));
  const auto epoch_0 = rows_of(first.window());
  first.advance();
  EXPECT_NE(rows_of(first.window()), epoch_0);
}

TEST(Sampler, SequentialKeepsTheFileOrder) {
  const Dataset dataset = dataset_of_lengths({5, 5, 5, 5, 5});
  SamplerOptions options = small_buckets(2, 1);
  options.shuffle = false;
  Sampler sampler(dataset, options);
  std::vector<int64_t> order;
  for (int i = 0; i < 3; ++i, sampler.advance())
    for (int64_t row : sampler.window().batches[0].examples) order.push_back(row);
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3, 4}));
}

TEST(Sampler, ACursorReplaysExactlyFromAnyStep) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Dataset dataset = random_dataset(seed, 23, 40);
    const SamplerOptions options = small_buckets(2, 3, seed);
    Sampler whole(dataset, options);
    for (int64_t stop = 0; stop < 3 * whole.windows_per_epoch(); ++stop, whole.advance()) {
      const Json saved = Json::parse(whole.cursor().dump(), "cursor");
      Sampler resumed(dataset, options);
      resumed.restore(saved);
      Sampler going_on = whole;
      for (int i = 0; i < 5; ++i, resumed.advance(), going_on.advance()) {
        ASSERT_EQ(rows_of(resumed.window()), rows_of(going_on.window()));
        ASSERT_EQ(resumed.window().supervised, going_on.window().supervised);
        ASSERT_EQ(resumed.cursor(), going_on.cursor());
      }
    }
  }
}

TEST(Sampler, AStopInsideAWindowReplaysIt) {
  const Dataset dataset = random_dataset(5, 20, 30);
  Sampler sampler(dataset, small_buckets(2, 4));
  sampler.advance();
  const Json saved = sampler.cursor();
  make_batch(dataset, sampler.window().batches[0], 2);
  Sampler resumed(dataset, small_buckets(2, 4));
  resumed.restore(saved);
  EXPECT_EQ(rows_of(resumed.window()), rows_of(sampler.window()));
}

TEST(Sampler, AnotherOrderOrDataIsRefusedOnResume) {
  const Dataset dataset = random_dataset(5, 20, 30);
  const Json saved = Sampler(dataset, small_buckets(2, 4)).cursor();
  const auto refuses = [&](const Dataset& data, const SamplerOptions& options, const char* part) {
    try {
      Sampler(data, options).restore(saved);
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refuses(dataset, small_buckets(4, 4), "per_device_train_batch_size was 2 and is now 4");
  refuses(dataset, small_buckets(2, 2), "gradient_accumulation_steps");
  refuses(dataset, small_buckets(2, 4, 7), "data_seed");
  refuses(random_dataset(6, 20, 30), small_buckets(2, 4), "data was");
  Json broken = saved;
  broken.set("window", 1000);
  EXPECT_THROW(Sampler(dataset, small_buckets(2, 4)).restore(broken), Error);
}

TEST(Batch, CaseB2OneTargetFromThePositionBefore) {
  Dataset dataset = dataset_of_lengths({4});
  dataset.examples[0].ids = {10, 11, 12, 13};
  dataset.examples[0].labels = {-100, -100, 12, -100};
  dataset.examples[0].supervised = 1;
  const Batch batch = make_batch(dataset, {{0}, 8}, 1);
  EXPECT_EQ(targets_of(batch), (std::vector<int32_t>{-1, 12, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(batch.supervised, 1);
}

TEST(Batch, CaseB4PaddingIsKnownByPositionNotById) {
  Dataset dataset = dataset_of_lengths({4});
  dataset.examples[0].ids = dataset.examples[0].labels = {5, 6, 7, 0};
  const Batch batch = make_batch(dataset, {{0}, 8}, 1);
  EXPECT_EQ(batch.input_ids, (std::vector<int32_t>{5, 6, 7, 0, 0, 0, 0, 0}));
  EXPECT_EQ(targets_of(batch), (std::vector<int32_t>{6, 7, 0, -1, -1, -1, -1, -1}));
}

TEST(Batch, MissingRowsAreAllPadding) {
  const Dataset dataset = dataset_of_lengths({3, 2});
  const Batch batch = make_batch(dataset, {{1, 0}, 4}, 3);
  EXPECT_EQ(batch.positions, (std::vector<int32_t>{0, 1, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.segments, (std::vector<int32_t>{0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(batch.labels[4 * 2], kIgnoredLabel);
  EXPECT_EQ(batch.tokens, 5);
  EXPECT_EQ(batch.places[0].line, 2);
  EXPECT_EQ(batch.places[2].line, 0);
}

TEST(Batch, CaseB1WindowsAreWeightedByTargetsNotByBatches) {
  const Dataset dataset = dataset_of_lengths({3, 9});
  Sampler sampler(dataset, small_buckets(1, 2));
  EXPECT_EQ(sampler.window().supervised, 2 + 8);
  const Dataset six = dataset_of_lengths(std::vector<int64_t>(6, 4));
  Sampler uneven(six, small_buckets(1, 4));
  EXPECT_EQ(uneven.window().supervised, 4 * 3);
  uneven.advance();
  EXPECT_EQ(uneven.window().batches.size(), 2u) << "the last window is smaller, not dropped";
  EXPECT_EQ(uneven.window().supervised, 2 * 3);
}

}  // namespace
}  // namespace lemnos::data
