// Whatever a recipe says: every value in force lies in its range, or it is an Error for the user.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "support/property.h"
#include "train/train_config_options.h"

namespace lemnos::train {
namespace {

using Random = std::mt19937_64;

std::string random_key(Random& random) {
  const std::span<const Option> lists[] = {applied_options(), applied_options(), noted_options(), refused_options()};
  return std::string(test::pick(test::pick(lists, random), random).key);
}

std::string random_recipe(Random& random) {
  static constexpr const char* kValues[] = {
      "0", "1", "-1", "2", "0.5", "1e-3", "1e400", ".nan", ".inf", "-.inf", "nan", "9223372036854775808", "true", "no",
      "null", "~", "", "auto", "linear", "cosine", "steps", "all-linear", "[q_proj, v_proj]", "[]", "[[1]]", "{a: 1}",
      "1.5 GiB", "-1 GiB", "0.5%", "200%", "'2e-4'", "\"\\u0000\"", "&a *a", "!!int x", "2024-01-01", "0x10", "1_000", "é"};
  static constexpr const char* kLines[] = {"learning_rate 1", "- 1", "---", "? x", "\t", "a: b: c", "{", "*a: 1", "%YAML 9"};
  std::string text;
  for (auto lines = random() % 4; lines > 0; --lines) {
    if (random() % 12 == 0)
      text += std::string(test::pick(kLines, random)) + "\n";
    else
      text += random_key(random) + ": " + test::pick(kValues, random) + "\n";
  }
  return text;
}

void expect_in_range(const TrainConfig& config, const std::string& recipe, uint64_t number) {
  for (const Option& option : applied_options()) {
    if (!option.alias_of.empty()) continue;
    const Json value = value_of(config, option);
    EXPECT_TRUE(!value.is_number() || option.range.contains(value.as_number()))
        << "case " << number << ": " << option.key << " is " << value.dump() << "\n" << recipe;
  }
}

TEST(TrainConfigProperty, AnOddRecipeIsAnErrorOrInRange) {
  const uint64_t cases = test::property_cases(3000);
  uint64_t accepted = 0;
  for (uint64_t number = 0; number < cases; ++number) {
    Random random(number);
    const std::string recipe = random_recipe(random);
    try {
      expect_in_range(parse_train_config(recipe, "run.yaml", {}), recipe, number);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::usage || error.kind() == ErrorKind::unsupported)
          << "case " << number << ": " << error.what();
    } catch (const std::exception& other) {
      FAIL() << "case " << number << ": " << other.what() << "\n" << recipe;
    }
  }
  EXPECT_GT(accepted, cases / 8);
  EXPECT_LT(accepted, cases * 7 / 8);
}

}  // namespace
}  // namespace lemnos::train
