#include "models/rope_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace lemnos {
namespace {

const Json& cases() {
  static const Json json =
      Json::parse(read_file(LEMNOS_TEST_DATA "/rope_cases.json"), "rope_cases.json");
  return json.at("cases");
}

float from_hex(const Json& text) { return std::strtof(text.as_string().c_str(), nullptr); }

int64_t ordered(float value) {
  const auto bits = std::bit_cast<int32_t>(value);
  return bits < 0 ? int64_t{INT32_MIN} - bits : bits;
}
int64_t ulps(float a, float b) { return std::abs(ordered(a) - ordered(b)); }

struct Case {
  explicit Case(const Json& json)
      : expected(json), name(json.at("name").as_string()), length(json.at("length").as_integer()) {
    ConfigReader config(json.at("config"), name);
    rope = read_rope_config(config);
    frequencies = rope_frequencies(rope, json.at("head_dim").as_integer(), length);
  }
  const Json& expected;
  std::string name;
  int64_t length;
  RopeConfig rope;
  RopeFrequencies frequencies;
};

TEST(RopeTable, FrequenciesAreThoseOfTransformers) {
  for (const Json& json : cases().as_array()) {
    const Case test(json);
    const Json::Array& inv_freq = json.at("inv_freq").as_array();
    ASSERT_EQ(test.frequencies.inv_freq.size(), inv_freq.size()) << test.name;
    int64_t worst = 0;
    for (size_t i = 0; i < inv_freq.size(); ++i)
      worst = std::max(worst, ulps(test.frequencies.inv_freq[i], from_hex(inv_freq[i])));
    EXPECT_EQ(worst, 0) << test.name;
    EXPECT_EQ(test.frequencies.attention_scaling,
              std::strtod(json.at("attention_scaling").as_string().c_str(), nullptr))
        << test.name;
  }
}

TEST(RopeTable, CosAndSinAreThoseOfTransformers) {
  for (const Json& json : cases().as_array()) {
    const Case test(json);
    const RopeTable table = rope_table(test.frequencies, test.length);
    ASSERT_EQ(table.cos.size(), static_cast<size_t>(table.positions * table.pairs));
    const Json::Array& rows = json.at("rows").as_array();
    int64_t worst = 0;
    for (size_t row = 0; row < rows.size(); ++row)
      for (int64_t pair = 0; pair < table.pairs; ++pair) {
        const auto ours = static_cast<size_t>(rows[row].as_integer() * table.pairs + pair);
        const size_t theirs = row * static_cast<size_t>(table.pairs) + static_cast<size_t>(pair);
        worst = std::max(worst, ulps(table.cos[ours], from_hex(json.at("cos").as_array()[theirs])));
        worst = std::max(worst, ulps(table.sin[ours], from_hex(json.at("sin").as_array()[theirs])));
      }
    // PyTorch's own cos and sin are up to 1 ulp from the correctly rounded ones that we take.
    const bool scaled = test.frequencies.attention_scaling != 1;
    EXPECT_LE(worst, scaled ? 2 : 1) << test.name;
  }
}

RopeFrequencies frequencies_of(const char* config_json, int64_t head_dim) {
  ConfigReader config(Json::parse(config_json, "config.json"), "config.json");
  return rope_frequencies(read_rope_config(config), head_dim, 8);
}

TEST(RopeTable, RefusesImpossibleWidths) {
  EXPECT_THROW(frequencies_of(R"({"max_position_embeddings": 8})", 7), Error);
  EXPECT_THROW(frequencies_of(R"({"max_position_embeddings": 8})", 0), Error);
  EXPECT_THROW(frequencies_of(R"({"max_position_embeddings": 8,
      "rope_scaling": {"type": "dynamic", "factor": 2.0}})",
                              2),
               Error);
}

TEST(RopeTable, RefusesLongropeListsOfAnotherLength) {
  EXPECT_THROW(frequencies_of(R"({"max_position_embeddings": 8, "rope_scaling":
      {"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [2, 2, 2]}})",
                              8),
               Error);
}

}  // namespace
}  // namespace lemnos
