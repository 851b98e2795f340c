// Which products of a plan run in split precision, and what they take their scales from. No device: the plan is data.
#include "train/gemm_choice.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"
#include "ops/linear/linear.h"
#include "support/toy_families.h"
#include "train/engine_plan.h"

namespace lemnos::test {
namespace {

DeviceProfile with_matrix_units() {
  DeviceProfile profile;
  profile.split_gemm = true;
  return profile;
}

/// Nodes by op, those in split precision apart: "linear", "linear split".
std::map<std::string, int64_t> counts(const Graph& graph) {
  std::map<std::string, int64_t> count;
  for (const Node& node : graph.nodes) {
    const std::string op = node.op->name;
    const bool product = op.starts_with("linear") && op != "linear_grad_bias";
    ++count[op + (product && node.inputs.back().valid() ? " split" : "")];
  }
  return count;
}

TEST(GemmChoice, NamesAreReadAndWrongOnesRefused) {
  for (const GemmChoice choice : {GemmChoice::automatic, GemmChoice::fma, GemmChoice::split})
    EXPECT_EQ(gemm_choice(name_of(choice)), choice);
  EXPECT_THROW(gemm_choice("tf32"), Error);
}

TEST(GemmChoice, SplitIsRefusedWhereItIsNot) {
  EXPECT_EQ(split_gemm(GemmChoice::automatic, {}), SplitGemm::never);
  EXPECT_EQ(split_gemm(GemmChoice::fma, with_matrix_units()), SplitGemm::never);
  EXPECT_EQ(split_gemm(GemmChoice::automatic, with_matrix_units()), SplitGemm::large);
  try {
    split_gemm(GemmChoice::split, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("VK_KHR_cooperative_matrix"), std::string::npos) << error.what();
  }
}

TEST(GemmChoice, SmallWeightsAreSplitOnlyWhenAskedFor) {
  for (EngineSetup setup : toy_setups({{2, 8, 4}})) {
    const EnginePlan small = plan_engine(setup, with_matrix_units());
    EXPECT_EQ(counts(small.training[0].graph), counts(plan_engine(setup, {}).training[0].graph)) << name_of(setup);
    setup.gemm = GemmChoice::split;
    const std::map<std::string, int64_t> all = counts(plan_engine(setup, with_matrix_units()).training[0].graph);
    for (const char* op : {"linear", "linear_grad_input", "linear_grad_weight", "linear_rows"})
      EXPECT_FALSE(all.contains(op)) << name_of(setup) << " " << op;
    EXPECT_GT(all.at("linear split"), 0) << name_of(setup);
  }
}

TEST(GemmChoice, EachValueIsMeasuredOnceAndFrozenWeightsBeforeTheFirstStep) {
  for (EngineSetup setup : toy_setups({{2, 8, 4}})) {
    setup.gemm = GemmChoice::split;
    const EnginePlan plan = plan_engine(setup, with_matrix_units());
    const Graph& graph = plan.training[0].graph;
    std::map<ValueId, int> measured;
    for (const Node& node : graph.nodes) {
      if (!std::string_view(node.op->name).starts_with("largest")) continue;
      const Value& x = graph[node.inputs[0]];
      EXPECT_EQ(++measured[node.inputs[0]], 1) << name_of(setup) << " " << x.name;
      EXPECT_EQ(node.section == Section::once, x.kind == ValueKind::parameter && !x.trainable) << name_of(setup) << " " << x.name;
    }
    EXPECT_FALSE(measured.empty());
  }
}

/// A row's bits may not depend on how many rows there are, nor its kernel.
TEST(GemmChoice, TheNumberOfTokensDecidesNothing) {
  Graph graph;
  Builder b(graph);
  b.split_gemm = SplitGemm::large;
  const ValueId weight = b.parameter("w", {256, 256}, DType::f32, true), narrow = b.parameter("a", {16, 4096}, DType::f32, true);
  for (const int64_t tokens : {1, 7, 4096}) {
    const ValueId x = b.input(format("x{}", tokens), {tokens, 256}, DType::f32);
    const ValueId wide = b.input(format("wide{}", tokens), {tokens, 4096}, DType::f32);
    ops::linear(b, x, weight);
    ops::linear(b, wide, narrow);
  }
  EXPECT_EQ(counts(graph)["linear split"], 3);
  EXPECT_EQ(counts(graph)["linear"], 3);
}

}  // namespace
}  // namespace lemnos::test
