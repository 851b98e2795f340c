#include "graph/autodiff.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/memory_plan.h"
#include "ops/elementwise/add.h"
#include "ops/linear/linear.h"

namespace lemnos {
namespace {

/// x -> frozen -> trained -> frozen: the shape of a LoRA step.
struct Net {
  Graph graph;
  Builder b{graph};
  ValueId x = b.input("x", {4, 8}, DType::f32);
  ValueId below = b.parameter("below", {8, 8}, DType::f32, false);
  ValueId trained = b.parameter("trained", {8, 8}, DType::f32, true);
  ValueId above = b.parameter("above", {8, 8}, DType::f32, false);
  ValueId y = ops::linear(b, ops::linear(b, ops::linear(b, x, below), trained), above);
};

int count_nodes(const Graph& graph, std::string_view op) {
  int count = 0;
  for (const Node& node : graph.nodes) count += node.op->name == op ? 1 : 0;
  return count;
}

TEST(Autodiff, NothingBelowTheLowestTrainableTensor) {
  Net net;
  Autodiff autodiff(net.b);
  autodiff.add(net.y, net.b.input("dy", {4, 8}, DType::f32));
  autodiff.run();
  EXPECT_EQ(count_nodes(net.graph, "linear_grad_input"), 1);
  EXPECT_EQ(count_nodes(net.graph, "linear_grad_weight"), 1);
  EXPECT_TRUE(net.graph.find("grad/trained").valid());
  EXPECT_FALSE(net.graph.find("grad/above").valid());
}

TEST(MemoryPlan, LiveValuesNeverOverlap) {
  Net net;
  Autodiff autodiff(net.b);
  autodiff.add(net.y, net.b.input("dy", {4, 8}, DType::f32));
  autodiff.run();
  const ArenaPlan shared = plan_arena(net.graph, {});
  const ArenaPlan alone = plan_arena(net.graph, {.alias = false});
  int64_t with = 0, without = 0;
  for (const int64_t bytes : shared.blocks) with += bytes;
  for (const int64_t bytes : alone.blocks) without += bytes;
  EXPECT_LT(with, without);
  const ValueId gradient = autodiff.gradient(net.trained);
  EXPECT_EQ(shared.places[gradient.index].region, Region::persistent);
}

TEST(MemoryPlan, InPlaceOnlyWhenTheInputDies) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {64}, DType::f32);
  const ValueId first = ops::add(b, x, x);
  const ValueId second = ops::add(b, first, x);
  const ValueId third = ops::add(b, second, first);
  graph.results = {third};
  const ArenaPlan plan = plan_arena(graph, {});
  EXPECT_EQ(plan.roots[second.index], second);  // first is still read by third
  EXPECT_EQ(plan.roots[third.index], second);
}

TEST(MemoryPlan, BlocksStayUnderTheAllocationLimit) {
  Graph graph;
  Builder b(graph);
  ValueId x = b.input("x", {256}, DType::f32);
  std::vector<ValueId> kept;
  for (int i = 0; i < 8; ++i) kept.push_back(x = ops::add(b, x, x));
  graph.results = kept;
  const PlanOptions options{.max_block_bytes = 2048};
  const ArenaPlan plan = plan_arena(graph, options);
  EXPECT_GT(plan.blocks.size(), 1u);
  for (const int64_t bytes : plan.blocks) EXPECT_LE(bytes, options.max_block_bytes);
  for (const ValueId id : kept)
    EXPECT_LE(plan.places[id.index].offset + plan.places[id.index].bytes, options.max_block_bytes);
  EXPECT_THROW(plan_arena(graph, {.max_block_bytes = 512}), Error) << "one tensor is larger than a block";
}

}  // namespace
}  // namespace lemnos
