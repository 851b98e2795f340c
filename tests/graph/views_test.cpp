// A reshape is another name for the same bytes.
#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/memory_plan.h"
#include "models/model_builder.h"
#include "ops/elementwise/add.h"
#include "ops/elementwise/reshape.h"
#include "train/engine_plan.h"

namespace lemnos {
namespace {

void expect_same_place(const ArenaPlan& plan, ValueId a, ValueId b) {
  const Place &x = plan.places[a.index], &y = plan.places[b.index];
  EXPECT_EQ(x.region, Region::arena);
  EXPECT_TRUE(x.region == y.region && x.block == y.block && x.offset == y.offset && x.bytes == y.bytes);
}

bool overlap(const ArenaPlan& plan, ValueId a, ValueId b) {
  const Place &x = plan.places[a.index], &y = plan.places[b.index];
  return x.block == y.block && x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
}

TEST(Views, OfAViewAndOfWhatItIsOfShareAPlaceWithAndWithoutSharing) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {6, 4}, DType::f32);
  const ValueId sum = ops::add(b, x, x);
  const ValueId view = ops::reshape(b, sum, {2, -1}), again = ops::reshape(b, view, {24});
  EXPECT_EQ(graph.shape(view), (Shape{2, 12}));
  graph.results = {again};
  for (const bool alias : {true, false}) {
    const ArenaPlan plan = plan_arena(graph, {.alias = alias});
    expect_same_place(plan, sum, view);
    expect_same_place(plan, sum, again);
    EXPECT_EQ(plan.blocks, std::vector<int64_t>{kPlaceAlignment});
  }
}

/// As long as one name is read, no other value may take the bytes, in place or after the other
/// name's last use.
TEST(Views, KeepTheirBytesUntilTheLastNameDies) {
  Graph graph;
  Builder b(graph);
  const ValueId x = b.input("x", {24}, DType::f32);
  const ValueId sum = ops::add(b, x, x), view = ops::reshape(b, sum, {4, 6});
  const ValueId after = ops::add(b, sum, x);  // sum's last use; view is read below
  const ValueId late = ops::add(b, view, ops::reshape(b, after, {4, 6}));
  graph.results = {late};
  const ArenaPlan plan = plan_arena(graph, {});
  EXPECT_FALSE(overlap(plan, sum, after));
  EXPECT_EQ(plan.roots[view.index], sum);
}

TEST(Views, HaveNoKernelInAnyTrainingGraph) {
  const Json json = Json::parse(R"({"model_type": "qwen3", "vocab_size": 12, "hidden_size": 8, "intermediate_size": 10,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4,
      "max_position_embeddings": 16, "hidden_act": "silu"})", "tiny");
  const EnginePlan plan = plan_engine({.model = read_model_config(json, "tiny"), .buckets = {{1, 5, 2}}}, {});
  const PlannedGraph& planned = plan.training.front();
  int views = 0;
  for (const Node& node : planned.graph.nodes) {
    if (std::string_view(node.op->name) != "reshape") continue;
    ++views;
    EXPECT_TRUE(node.op->dispatch({planned.graph, node, {}}).empty());
    expect_same_place(planned.arena, node.inputs[0], node.outputs[0]);
  }
  EXPECT_GT(views, 4);
}

}  // namespace
}  // namespace lemnos
