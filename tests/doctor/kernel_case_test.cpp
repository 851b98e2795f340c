#include "doctor/kernel_case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "doctor/case_values.h"
#include "doctor/tolerance.h"
#include "train/engine_plan.h"

namespace lemnos::doctor {
namespace {

ModelConfig model(const char* type, const char* more) {
  Json json = Json::parse(R"({"vocab_size": 300, "hidden_size": 40, "intermediate_size": 70, "num_hidden_layers": 1,
      "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "hidden_act": "silu",
      "tie_word_embeddings": false})", "test");
  const Json others = Json::parse(more, "test");
  for (const auto& [key, value] : others.as_object()) json.set(key, value);
  json.set("model_type", type);
  return read_model_config(std::move(json), "test");
}

std::vector<ModelConfig> models() {
  return {model("llama", R"({"attention_bias": true})"), model("mistral", R"({"sliding_window": 9})"),
          model("qwen2", R"({"tie_word_embeddings": true})"), model("qwen3", R"({"head_dim": 16})"),
          model("mixtral", R"({"num_local_experts": 5, "num_experts_per_tok": 2})")};
}

/// Full training and LoRA with dropout; on a device with matrix units everything on those that can be.
std::vector<EnginePlan> plans(const ModelConfig& config, const DeviceProfile& device, int64_t length) {
  EngineSetup setup{.model = config, .buckets = {{1, length, 2}}};
  if (device.split_gemm) setup.gemm = GemmChoice::split;
  std::vector<EnginePlan> made{plan_engine(setup, device)};
  setup.lora = LoraConfig{.r = device.split_gemm ? 4 : 3, .lora_dropout = 0.1, .target_modules = {std::vector<std::string>{"q_proj", "o_proj"}}};
  made.push_back(plan_engine(setup, device));
  return made;
}

std::vector<KernelCase> cases_of(const std::vector<EnginePlan>& plans, const DeviceProfile& device) {
  std::vector<const Graph*> graphs;
  for (const EnginePlan& plan : plans)
    for (const PlannedGraph& planned : plan.training) graphs.push_back(&planned.graph);
  return collect_cases(graphs, device);
}

TEST(KernelCase, EveryOpOfEveryFamilyIsCovered) {
  for (const DeviceProfile& device : {DeviceProfile{.cpu_path = true}, DeviceProfile{}, DeviceProfile{.split_gemm = true}}) {
    std::set<std::string> ops, checked;
    for (const ModelConfig& config : models()) {
      const auto all = plans(config, device, 70);
      for (const EnginePlan& plan : all)
        for (const PlannedGraph& planned : plan.training)
          for (const Node& node : planned.graph.nodes)
            if (!node.op->is_view) ops.insert(node.op->name);
      for (const KernelCase& c : cases_of(all, device))
        if (c.axes) checked.insert(c.op->name);
    }
    EXPECT_EQ(checked, ops);
    EXPECT_GE(ops.size(), 30u);
  }
}

/// The reference on some rows and columns is the reference on all of them, at these elements.
TEST(KernelCase, SamplesHaveTheValuesOfTheWhole) {
  const DeviceProfile device{.cpu_path = true};
  std::set<std::string> compared;
  for (const ModelConfig& config : models())
    for (KernelCase& c : cases_of(plans(config, device, 130), device)) {
      if (c.sampled || (c.axes->sampled.empty() && !c.axes->by_tiles) || !compared.insert(c.op->name).second) continue;
      KernelCase sampled = c;
      sampled.sampled = true;
      const std::vector<InputValues> inputs = values_of(sampled);
      // Attention's gradient is asked for in the sampled rows alone; both see these inputs.
      const std::vector<Expected> whole = expected_of(c, inputs), some = expected_of(sampled, inputs);
      ASSERT_EQ(whole.size(), some.size());
      for (size_t i = 0; i < whole.size(); ++i)
        for (size_t j = 0; j < some[i].values.size(); ++j) {
          const size_t at = some[i].at.empty() ? j : static_cast<size_t>(some[i].at[j]);
          ASSERT_NEAR(some[i].values[j], whole[i].values.at(at), 1e-12) << c.op->name << " output " << i << " element " << at;
        }
    }
  EXPECT_GE(compared.size(), 25u);
}

TEST(KernelCase, ASmallerShapeHasTheSameKernelsAndRemainders) {
  const DeviceProfile gpu{.max_shared_bytes = 49152};
  EngineSetup setup{.model = models()[0], .buckets = {{1, 1000, 2}}};
  const auto plan = plan_engine(setup, gpu);
  const Graph* graphs[] = {&plan.training[0].graph};
  int smaller = 0;
  for (const KernelCase& c : collect_cases(graphs, gpu)) {
    if (!c.smaller || c.sampled || !c.sizes.contains('m') || std::string_view(c.op->name) != "linear") continue;
    EXPECT_EQ(c.sizes.at('m') % 128, 1000 % 128);
    EXPECT_GT(c.sizes.at('m'), 128);
    ++smaller;
  }
  EXPECT_GT(smaller, 0);
}

TEST(KernelCase, KeysTellUsesApart) {
  const DeviceProfile device{.cpu_path = true};
  const std::vector<KernelCase> cases = cases_of(plans(models()[4], device, 200), device);
  std::set<std::string> keys;
  for (const KernelCase& c : cases) keys.insert(c.key);
  EXPECT_EQ(keys.size(), cases.size());
}

TEST(Tolerance, IsRelativeToTheElementOrToTheLargest) {
  EXPECT_EQ(allowed_error(tolerance_of("embedding", 0), 3.0, 9.0), 0.0);
  EXPECT_NEAR(allowed_error(tolerance_of("add", 0), 3.0, 9.0), 3 * 0x1p-24, 1e-15);
  EXPECT_NEAR(allowed_error(tolerance_of("linear", 0), 3.0, 9.0), 16 * 9 * 0x1p-24, 1e-12);
  EXPECT_NEAR(allowed_error(tolerance_of("linear", 0), 0.01, 0.02), 16 * 0x1p-24, 1e-12);
  EXPECT_LT(allowed_error(tolerance_of("cross_entropy", 0), 1e-5, 0.1), 1e-9);
  EXPECT_GT(allowed_error(tolerance_of("cross_entropy", 1), 1e-5, 0.1), 1e-7);
}

}  // namespace
}  // namespace lemnos::doctor
