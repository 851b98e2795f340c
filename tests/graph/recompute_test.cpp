// The pass alone: what it lists, what it copies, and that the graph stays a graph.
#include "graph/passes/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/format.h"
#include "graph/op.h"
#include "ops/elementwise/add.h"
#include "ops/elementwise/scale.h"
#include "ops/elementwise/swiglu.h"
#include "ops/norm/rms_norm.h"
#include "support/property.h"
#include "support/toy_families.h"

namespace lemnos::test {
namespace {

using Steps = std::vector<RecomputeStep>;

/// A training graph of each family and mode, as it is before anything is made again.
std::vector<std::pair<std::string, PlannedGraph>> toy_graphs() {
  std::vector<std::pair<std::string, PlannedGraph>> graphs;
  for (const EngineSetup& setup : toy_setups({{2, 8, 4}})) graphs.emplace_back(name_of(setup), plan_engine(setup, {}).training[0]);
  return graphs;
}

/// Every value is made once, and before it is read; no older version of a state is read.
void expect_valid(const Graph& graph, const std::string& what) {
  std::vector<bool> made(graph.values.size(), false);
  for (uint32_t i = 0; i < graph.values.size(); ++i) made[i] = graph.values[i].kind != ValueKind::activation;
  for (const Node& node : graph.nodes) {
    for (const ValueId in : node.inputs)
      ASSERT_TRUE(!in.valid() || made[in.index]) << node.op->name << " @" << node.scope << " " << what;
    for (const ValueId out : node.outputs) {
      ASSERT_FALSE(made[out.index]) << node.op->name << " @" << node.scope << " " << what;
      made[out.index] = true;
    }
  }
  plan_arena(graph, {});  // CHECKs states and sections
}

Steps first_of(const Steps& steps, size_t count) { return {steps.begin(), steps.begin() + static_cast<ptrdiff_t>(count)}; }

TEST(Recompute, AnyFirstStepsGiveAValidGraph) {
  for (const auto& [name, planned] : toy_graphs()) {
    const Steps steps = recompute_steps(planned.graph, planned.forward_nodes);
    ASSERT_GT(steps.size(), 4u) << name;
    for (size_t count = 0; count <= steps.size(); ++count)
      expect_valid(recompute(planned.graph, planned.forward_nodes, first_of(steps, count)), name);
    for (const RecomputeStep& step : steps)
      expect_valid(recompute(planned.graph, planned.forward_nodes, Steps{step}), name);
  }
}

TEST(Recompute, AnyChoiceOfStepsGivesAValidGraph) {
  const auto graphs = toy_graphs();
  for (uint64_t k = 0; k < property_cases(40); ++k) {
    std::mt19937_64 random(k);
    const auto& [name, planned] = pick(graphs, random);
    Steps chosen = recompute_steps(planned.graph, planned.forward_nodes);
    std::erase_if(chosen, [&](const RecomputeStep&) { return random() % 2 == 0; });
    expect_valid(recompute(planned.graph, planned.forward_nodes, chosen), format("{}, case {}", name, k));
  }
}

TEST(Recompute, NoStepsLeaveTheGraphAsItIs) {
  for (const auto& [name, planned] : toy_graphs())
    EXPECT_EQ(to_string(recompute(planned.graph, planned.forward_nodes, {})), to_string(planned.graph)) << name;
}

/// The forward pass's nodes, and in the backward pass those that are not copies.
std::string without_copies(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes)
    if (!is_recompute(node.scope)) text += format("{} {} @{}\n", node.op->name, to_string(node.attrs), node.scope);
  return text;
}

TEST(Recompute, CopiesAreTheForwardPassesNodesAgainAndNothingElseIsAdded) {
  for (const auto& [name, planned] : toy_graphs()) {
    const Graph all = recompute(planned.graph, planned.forward_nodes, recompute_steps(planned.graph, planned.forward_nodes));
    EXPECT_EQ(without_copies(all), without_copies(planned.graph)) << name;
    std::multiset<std::string> originals;
    for (size_t n = 0; n < planned.forward_nodes; ++n) {
      const Node& node = planned.graph.nodes[n];
      originals.insert(format("{}{}{}", node.op->name, to_string(node.attrs), node.scope));
    }
    for (const Node& node : all.nodes) {
      if (!is_recompute(node.scope)) continue;
      const std::string scope = node.scope.substr(std::string("recompute/").size());
      const auto original = originals.find(format("{}{}{}", node.op->name, to_string(node.attrs), scope));
      ASSERT_NE(original, originals.end()) << node.op->name << " @" << node.scope << " is copied twice, " << name;
      originals.erase(original);
    }
  }
}

TEST(Recompute, AllStepsKeepTheLayersInputsAlone) {
  for (const auto& [name, planned] : toy_graphs()) {
    const Graph graph = recompute(planned.graph, planned.forward_nodes, recompute_steps(planned.graph, planned.forward_nodes));
    const std::vector<int32_t> producers = producer_of(graph);
    std::set<ValueId> kept;
    for (size_t n = planned.forward_nodes; n < graph.nodes.size(); ++n)
      for (const ValueId in : graph.nodes[n].inputs) {
        const int32_t made_by = in.valid() ? producers[in.index] : -1;
        if (made_by < 0 || static_cast<size_t>(made_by) >= planned.forward_nodes) continue;
        if (layer_of(graph.nodes[static_cast<size_t>(made_by)].scope) >= 0) kept.insert(in);
      }
    EXPECT_EQ(kept.size(), 2u) << name;  // the hidden states after both layers
    for (const ValueId id : kept) EXPECT_EQ(graph.shape(id), (Shape{16, 16})) << name;
  }
}

TEST(Recompute, CheapStepsComeFirstAndHaveNoProducts) {
  for (const auto& [name, planned] : toy_graphs()) {
    const Steps steps = recompute_steps(planned.graph, planned.forward_nodes);
    const auto first_product = std::find_if(steps.begin(), steps.end(), [](const RecomputeStep& s) { return s.products; });
    const auto by_cost = [](const RecomputeStep& a, const RecomputeStep& b) {
      return a.cost / static_cast<double>(a.bytes) < b.cost / static_cast<double>(b.bytes) - 1e-9;
    };
    EXPECT_TRUE(std::all_of(first_product, steps.end(), [](const RecomputeStep& s) { return s.products; })) << name;
    EXPECT_TRUE(std::is_sorted(steps.begin(), first_product, by_cost)) << name;
    EXPECT_TRUE(std::is_sorted(first_product, steps.end(), by_cost)) << name;
    const Graph cheap = recompute(planned.graph, planned.forward_nodes, Steps(steps.begin(), first_product));
    std::set<std::string> ops;
    for (const Node& node : cheap.nodes)
      if (is_recompute(node.scope)) ops.insert(node.op->name);
    for (const char* products : {"linear", "grouped_linear", "attention"}) EXPECT_FALSE(ops.contains(products)) << name;
    const bool moe = name.starts_with("mixtral"), lora = name.ends_with("lora");
    EXPECT_EQ(ops.contains("swiglu"), !moe) << name;
    EXPECT_EQ(ops.contains("moe_gather"), moe && !lora) << name;  // LoRA does not train the experts
    EXPECT_EQ(ops.contains("dropout"), lora) << name;
    EXPECT_TRUE(ops.contains("rms_norm")) << name;
  }
}

/// A copy of what updates a state would update it twice; what is made from it is kept too.
TEST(Recompute, WhatUpdatesAStateIsKept) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {4, 4}, DType::f32), sum = b.state("sum", {4, 4});
  const ValueId weight = b.parameter("weight", {4}, DType::f32, false);
  b.scope = "model.layers.0.mlp";
  const ValueId scaled = ops::scale(b, x, 2.0), updated = ops::accumulate(b, sum, scaled);
  const ValueId normed = ops::rms_norm(b, updated, weight, 1e-5);
  const size_t forward_nodes = graph.nodes.size();
  graph.results = {ops::swiglu(b, scaled, normed)};
  const Steps steps = recompute_steps(graph, forward_nodes);
  ASSERT_FALSE(steps.empty());
  const Graph all = recompute(graph, forward_nodes, steps);
  expect_valid(all, "by hand");
  EXPECT_EQ(std::count_if(all.nodes.begin(), all.nodes.end(), [](const Node& n) { return n.op->name == std::string("accumulate"); }), 1);
  EXPECT_EQ(std::count_if(all.nodes.begin(), all.nodes.end(), [](const Node& n) { return is_recompute(n.scope); }), 1);
}

TEST(Recompute, LayersAreReadFromScopes) {
  EXPECT_EQ(layer_of("model.layers.0"), 0);
  EXPECT_EQ(layer_of("model.layers.17.mlp.gate_proj"), 17);
  EXPECT_EQ(layer_of("recompute/model.layers.3.self_attn"), 3);
  EXPECT_EQ(layer_of("model.norm"), -1);
  EXPECT_EQ(layer_of(""), -1);
}

}  // namespace
}  // namespace lemnos::test
