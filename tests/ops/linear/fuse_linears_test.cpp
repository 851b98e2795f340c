// What products in split precision take along. No device: the graph before and after, in the double interpreter.
#include "ops/linear/fuse_linears.h"

#include <gtest/gtest.h>

#include <map>

#include "ops/linear/linear.h"
#include "support/finite_difference.h"

namespace lemnos::test {
namespace {

/// y = x W^T + 0.5 (x A^T) B^T on 3 rows, twice in a row, with gradients of x and of every weight that is trained.
struct Lora {
  int64_t width = 12, rank = 4;
  bool split = true, biased = false, read_between = false;
  Graph graph;
  size_t forward_nodes = 0;
  std::vector<ValueId> wanted;
  std::vector<ValueId> gradients;

  ValueId layer(Builder& b, ValueId x, const std::string& name) {
    const ValueId w = b.parameter(name + ".w", {width, width}, DType::f32, false);
    const ValueId lora_a = b.parameter(name + ".a", {rank, width}, DType::f32, true);
    const ValueId lora_b = b.parameter(name + ".b", {width, rank}, DType::f32, true);
    const ValueId bias = biased ? b.parameter(name + ".bias", {width}, DType::f32, false) : ValueId{};
    const ValueId base = ops::linear(b, x, w);
    if (read_between) graph.results.push_back(base);
    return ops::linear(b, ops::linear(b, x, lora_a), lora_b, bias, base, 0.5);
  }

  void build() {
    Builder b(graph);
    b.split_gemm = split ? SplitGemm::always : SplitGemm::never;
    const ValueId x = b.input("x", {3, width}, DType::f32), dy = b.input("dy", {3, width}, DType::f32);
    wanted = {x};
    const ValueId y = layer(b, layer(b, x, "first"), "second");
    for (const ValueId id : graph.of_kind(ValueKind::parameter))
      if (graph[id].trainable) wanted.push_back(id);
    forward_nodes = graph.nodes.size();
    Autodiff autodiff(b, wanted);
    autodiff.add(y, dy);
    autodiff.run();
    for (const ValueId id : wanted) gradients.push_back(autodiff.gradient(id));
    graph.results.push_back(y);
    for (const ValueId id : gradients)
      if (graph[id].kind == ValueKind::activation) graph.results.push_back(id);
  }

  std::vector<HostTensor> run(const Graph& what) const {
    Interpreter interpreter(what);
    uint64_t seed = 1;
    for (const ValueKind kind : {ValueKind::input, ValueKind::parameter})
      for (const ValueId id : what.of_kind(kind)) interpreter.set(id, random_tensor(what.shape(id), seed++));
    interpreter.run();
    std::vector<HostTensor> found;
    for (const ValueId id : what.results) found.push_back(interpreter.get(id));
    for (const ValueId id : gradients) found.push_back(interpreter.get(id));
    return found;
  }
};

std::map<std::string, int> counts(const Graph& graph) {
  std::map<std::string, int> count;
  for (const Node& node : graph.nodes) ++count[std::string(node.op->name) + (node.attrs.has("low_rank_scale") ? " low" : "")];
  return count;
}

void expect_the_same(const Lora& lora, const Graph& fused) {
  const std::vector<HostTensor> before = lora.run(lora.graph), after = lora.run(fused);
  for (size_t i = 0; i < before.size(); ++i)
    for (size_t j = 0; j < before[i].data.size(); ++j) EXPECT_NEAR(after[i].data[j], before[i].data[j], 1e-12) << i;
}

TEST(FuseLinears, TheSecondProductOfLoraGoesAlongWithTheLargeOneForwardAndBackward) {
  Lora lora;
  lora.build();
  Graph fused = lora.graph;
  size_t forward_nodes = lora.forward_nodes;
  fuse_linears(fused, forward_nodes);
  EXPECT_EQ(counts(fused)["linear low"], 2);
  EXPECT_EQ(counts(fused)["linear"], 2);  // x A^T
  EXPECT_EQ(counts(fused)["linear_grad_input low"], 2);
  EXPECT_EQ(counts(fused)["linear_grad_input"], 2);  // dy B
  EXPECT_EQ(counts(lora.graph)["linear"], 6);
  const size_t gone = lora.forward_nodes - forward_nodes;
  EXPECT_GE(gone, 2u);
  EXPECT_LT(gone, lora.graph.nodes.size() - fused.nodes.size());
  expect_the_same(lora, fused);
}

TEST(FuseLinears, OnlyRowsAreMeasuredWhereColumnsAreNotRead) {
  Lora lora;
  lora.build();
  Graph fused = lora.graph;
  fuse_linears(fused, lora.forward_nodes);
  EXPECT_GT(counts(fused)["largest_rows"], 0);
  std::map<ValueId, int> read;
  for (const Node& node : fused.nodes)
    for (const ValueId in : node.inputs) ++read[in];
  for (const Node& node : fused.nodes) {
    const std::string_view op = node.op->name;
    const bool columns = op == "largest" && node.section == Section::micro;
    if (columns || op == "largest_rows") {
      EXPECT_GT(read[node.outputs.back()], 0) << op;
    }
  }
}

TEST(FuseLinears, WhatCannotGoAlongStaysAsItIs) {
  const auto untouched = [](Lora lora, const char* why) {
    lora.build();
    Graph fused = lora.graph;
    fuse_linears(fused, lora.forward_nodes);
    EXPECT_EQ(counts(fused)["linear low"], 0) << why;
    expect_the_same(lora, fused);
  };
  untouched({.split = false}, "plain FMA");
  untouched({.rank = 3}, "a rank that is no multiple of 4");
  untouched({.width = 128, .rank = 68}, "a high rank");
  untouched({.width = 4, .rank = 8}, "the rank is above the width");
  untouched({.biased = true}, "the second product has a bias");
  untouched({.read_between = true}, "the large product is read elsewhere");
}

}  // namespace
}  // namespace lemnos::test
