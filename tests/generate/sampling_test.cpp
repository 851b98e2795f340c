#include "generate/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"

namespace lemnos {
namespace {

/// Probabilities 1/8, 1/2, 1/8, 1/4 at temperature 1.
const std::vector<float> kLogits = {0, std::log(4.0f), 0, std::log(2.0f)};

/// How often each token was taken in `count` steps, as parts of one.
std::vector<double> frequencies(const SamplingOptions& options, int count = 20000) {
  std::vector<double> parts(kLogits.size());
  for (int step = 0; step < count; ++step) parts[static_cast<size_t>(next_token(kLogits, options, step))] += 1.0 / count;
  return parts;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == 0)
      EXPECT_EQ(found[i], 0) << "token " << i;
    else
      EXPECT_NEAR(found[i], expected[i], 0.01) << "token " << i;
  }
}

std::vector<int32_t> taken(const SamplingOptions& options) {
  std::vector<int32_t> ids;
  for (int64_t step = 0; step < 200; ++step) ids.push_back(next_token(kLogits, options, step));
  return ids;
}

TEST(Sampling, GreedyTakesTheLargestAndAmongEqualsTheFirst) {
  EXPECT_EQ(next_token(kLogits, {}, 0), 1);
  EXPECT_EQ(next_token(std::vector<float>{-3, 2, 2, 2}, {}, 5), 1);
  EXPECT_EQ(next_token(std::vector<float>{7}, {}, 0), 0);
  EXPECT_EQ(next_token(std::vector<float>{-1, -1}, {.top_k = 1, .top_p = 0.1, .seed = 9}, 3), 0);
}

TEST(Sampling, TokensComeAsOftenAsTheirProbabilitySays) {
  expect_near(frequencies({.temperature = 1}), {0.125, 0.5, 0.125, 0.25});
  // Half the temperature squares the odds: 1, 16, 1, 4 of 22.
  expect_near(frequencies({.temperature = 0.5}), {1 / 22.0, 16 / 22.0, 1 / 22.0, 4 / 22.0});
  expect_near(frequencies({.temperature = 1e6}), {0.25, 0.25, 0.25, 0.25});
}

TEST(Sampling, TopKKeepsTheLargestAndAmongEqualsTheFirst) {
  expect_near(frequencies({.temperature = 1, .top_k = 1}), {0, 1, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_k = 2}), {0, 2 / 3.0, 0, 1 / 3.0});
  expect_near(frequencies({.temperature = 1, .top_k = 3}), {1 / 7.0, 4 / 7.0, 0, 2 / 7.0});
  EXPECT_EQ(taken({.temperature = 1, .top_k = 4}), taken({.temperature = 1}));
  EXPECT_EQ(taken({.temperature = 1, .top_k = 1 << 30}), taken({.temperature = 1}));
}

TEST(Sampling, TopPKeepsTheShortestHeadThatReachesIt) {
  expect_near(frequencies({.temperature = 1, .top_p = 1e-9}), {0, 1, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_p = 0.49}), {0, 1, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_p = 0.51}), {0, 2 / 3.0, 0, 1 / 3.0});
  expect_near(frequencies({.temperature = 1, .top_p = 0.76}), {1 / 7.0, 4 / 7.0, 0, 2 / 7.0});
  EXPECT_EQ(taken({.temperature = 1, .top_p = 1}), taken({.temperature = 1}));
}

/// As in Transformers: temperature first, then top_k, then top_p of what is left.
TEST(Sampling, TheNucleusIsThatOfWhatTopKLeft) {
  expect_near(frequencies({.temperature = 1, .top_k = 2, .top_p = 0.6}), {0, 1, 0, 0});
  expect_near(frequencies({.temperature = 1, .top_p = 0.6}), {0, 2 / 3.0, 0, 1 / 3.0});
  expect_near(frequencies({.temperature = 0.5, .top_p = 0.7}), {0, 1, 0, 0});
}

TEST(Sampling, ASeedRepeatsAndAnotherDiffers) {
  EXPECT_EQ(taken({.temperature = 1, .seed = 3}), taken({.temperature = 1, .seed = 3}));
  EXPECT_NE(taken({.temperature = 1, .seed = 3}), taken({.temperature = 1, .seed = 4}));
  EXPECT_NE(taken({.temperature = 1, .seed = 1}), taken({.temperature = 1, .seed = (uint64_t{1} << 32) + 1}));
  const std::vector<int32_t> ids = taken({.temperature = 1});
  EXPECT_EQ(std::set<int32_t>(ids.begin(), ids.end()).size(), 4u) << "steps draw anew";
}

TEST(Sampling, ExtremeLogitsAndTemperatures) {
  const float largest = std::numeric_limits<float>::max();
  for (const double temperature : {5e-324, 1e-30, 1.0, 100.0}) {
    EXPECT_EQ(next_token(std::vector<float>{-largest, largest, 0}, {.temperature = temperature}, 1), 1) << temperature;
    EXPECT_EQ(next_token(std::vector<float>{-5e30f, -4e30f}, {.temperature = temperature}, 1), 1) << temperature;
  }
  expect_near(frequencies({.temperature = 1e-30}), {0, 1, 0, 0});
}

TEST(Sampling, LogitsThatAreNoNumbersAreAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (const double temperature : {0.0, 1.0})
      EXPECT_THROW(next_token(std::vector<float>{0, bad}, {.temperature = temperature}, 0), Error);
}

}  // namespace
}  // namespace lemnos
