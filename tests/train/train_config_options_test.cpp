#include "train/train_config_options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "train/hugging_face_keys.h"

namespace lemnos::train {
namespace {

std::string document_path() {
  return std::filesystem::path(LEMNOS_TEST_DATA "/../../docs/options.md").lexically_normal();
}

std::vector<Option> all_options() {
  std::vector<Option> all;
  for (std::span<const Option> table : {applied_options(), noted_options(), refused_options()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

TEST(Options, EachKeyOfTheClassesWeFollowIsKnown) {
  for (const char* key : kHuggingFaceKeys) EXPECT_NE(find_option(key), nullptr) << key;
}

TEST(Options, KeysAreUniqueAndAliasesLeadToAppliedOptions) {
  std::set<std::string_view> seen;
  for (const Option& option : all_options()) {
    EXPECT_TRUE(seen.insert(option.key).second) << option.key;
    if (option.alias_of.empty()) continue;
    const Option* target = find_option(option.alias_of);
    ASSERT_NE(target, nullptr) << option.key;
    EXPECT_TRUE(target->alias_of.empty()) << option.key;
  }
}

TEST(Options, DefaultsAreInRange) {
  const TrainConfig defaults;
  for (const Option& option : applied_options()) {
    if (!option.alias_of.empty()) continue;
    const Json value = value_of(defaults, option);
    if (!value.is_number()) continue;
    EXPECT_TRUE(option.range.contains(value.as_number())) << option.key;
  }
}

TEST(Options, EachHasAReasonOrMeaning) {
  for (const Option& option : all_options())
    EXPECT_TRUE(!option.text.empty() || !option.alias_of.empty()) << option.key;
}

TEST(Options, RangesReadWell) {
  EXPECT_EQ((Range{.low = 1}).text(), "at least 1");
  EXPECT_EQ((Range{.low = 0, .low_excluded = true}).text(), "above 0");
  EXPECT_EQ((Range{.low = 0, .high = 1, .high_excluded = true}).text(), "at least 0 and below 1");
  EXPECT_EQ(Range{}.text(), "");
}

TEST(Options, TheDocumentIsUpToDate) {
  if (std::getenv("LEMNOS_UPDATE_DOCS") != nullptr)
    std::ofstream(document_path(), std::ios::binary) << options_markdown();
  std::ifstream in(document_path(), std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(written == options_markdown())
      << "docs/options.md is not what the option table says; run LEMNOS_UPDATE_DOCS=1 train_tests";
}

}  // namespace
}  // namespace lemnos::train
