// The printed plan of small training graphs, nodes and places, as it stands in tests/data/plans/: a
// refactor that changes nothing leaves it as it is. LEMNOS_UPDATE_PLANS=1 writes it anew; the diff is
// part of the review.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "io/file.h"
#include "train/engine_plan.h"

namespace lemnos {
namespace {

EngineSetup tiny_setup() {
  const Json json = Json::parse(R"({"model_type": "llama", "vocab_size": 12, "hidden_size": 8, "intermediate_size": 10,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 16,
      "hidden_act": "silu"})", "tiny");
  return {.model = read_model_config(json, "tiny"), .buckets = {{1, 5, 2}}};
}

std::string printed_place(const Place& place) {
  static constexpr const char* kRegions[] = {"none", "arena", "input", "persistent"};
  return format("{} {}+{} {}\n", kRegions[static_cast<size_t>(place.region)], place.block, place.offset, place.bytes);
}

std::string printed(const EnginePlan& plan) {
  std::string text;
  for (const PlannedGraph& planned : plan.training) {
    text += to_string(planned.graph);
    for (size_t i = 0; i < planned.arena.places.size(); ++i)
      if (planned.arena.places[i].region != Region::persistent && planned.arena.places[i].region != Region::none)
        text += format("%{} ", i) + printed_place(planned.arena.places[i]);
  }
  for (const auto& [name, place] : plan.storage.places) text += name + " " + printed_place(place);
  for (const auto& [kind, bytes] : plan.bytes_by_kind()) text += format("{} {}\n", kind, bytes);
  return text;
}

void expect_unchanged(const std::string& name, const EnginePlan& plan) {
  const std::filesystem::path file = std::filesystem::path(LEMNOS_TEST_DATA) / "plans" / (name + ".txt");
  const std::string now = printed(plan);
  if (std::getenv("LEMNOS_UPDATE_PLANS") != nullptr) write_file_atomic(file, now);
  const std::string before = read_file(file);
  const auto [a, b] = std::mismatch(now.begin(), now.end(), before.begin(), before.end());
  const auto line = 1 + std::count(now.begin(), a, '\n');
  EXPECT_TRUE(a == now.end() && b == before.end())
      << file << " differs from line " << line << "; if that is meant: LEMNOS_UPDATE_PLANS=1";
}

TEST(PrintedPlan, FullTraining) { expect_unchanged("llama_full", plan_engine(tiny_setup(), {})); }

TEST(PrintedPlan, LoraWithDropout) {
  EngineSetup setup = tiny_setup();
  setup.lora = LoraConfig{.r = 2, .lora_alpha = 4, .lora_dropout = 0.1,
                          .target_modules = {std::vector<std::string>{"q_proj", "down_proj"}}};
  expect_unchanged("llama_lora", plan_engine(setup, {}));
}

TEST(PrintedPlan, IsTheSameEachTime) {
  EXPECT_EQ(printed(plan_engine(tiny_setup(), {})), printed(plan_engine(tiny_setup(), {})));
}

}  // namespace
}  // namespace lemnos
