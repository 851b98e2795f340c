#include "bench/roofline.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/builder.h"
#include "graph/memory_plan.h"
#include "ops/elementwise/add.h"
#include "ops/linear/linear.h"
#include "runtime/profile.h"
#include "runtime/program.h"

namespace lemnos {
namespace {

/// Best time of the node of op `op` in a graph over states that hold zeros.
double best_ms(vk::Device& device, Graph graph, std::string_view op) {
  constexpr int kRuns = 5;
  const Graph* const graphs[] = {&graph};
  const PlanOptions options{.max_block_bytes = profile_of(device).max_allocation_bytes};
  ArenaPlan arena = plan_arena(graph, options);
  const ArenaPlan* const arenas[] = {&arena};
  Storage storage(device, plan_storage(graphs, options), merge_arenas(arenas));
  for (const ValueId id : graph.of_kind(ValueKind::state)) storage.clear(graph[id].name);
  vk::PipelineCache pipelines(device);
  Program program(storage, pipelines, std::move(graph), std::move(arena), {.profile = true});
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < kRuns; ++run) {
    program.run(Section::micro);
    program.wait();
    for (const Program::NodeTime& node : program.times(Section::micro))
      if (node.op == op) best = std::min(best, node.ms);
  }
  return best;
}

double product_flops_per_ms(vk::Device& device, SplitGemm split, int64_t side) {
  Graph graph;
  Builder b(graph);
  b.split_gemm = split;
  graph.results = {ops::linear(b, b.state("x", {side, side}), b.state("w", {side, side}))};
  const auto n = static_cast<double>(side);
  return 2 * n * n * n / best_ms(device, std::move(graph), "linear");
}

double sum_bytes_per_ms(vk::Device& device, int64_t elements) {
  Graph graph;
  Builder b(graph);
  graph.results = {ops::add(b, b.state("x", {elements}), b.state("y", {elements}))};
  return 12 * static_cast<double>(elements) / best_ms(device, std::move(graph), "add");
}

}  // namespace

double Roofline::least_ms(double flops, double bytes) const {
  return std::max(flops / flops_per_ms, bytes / bytes_per_ms);
}

Roofline measure_roofline(vk::Device& device, GemmChoice gemm) {
  const bool small = device.info().type == vk::DeviceType::cpu;
  return {.flops_per_ms = product_flops_per_ms(device, split_gemm(gemm, profile_of(device)), small ? 512 : 4096),
          .bytes_per_ms = sum_bytes_per_ms(device, int64_t{1} << (small ? 22 : 27))};
}

double least_bytes(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (const ValueId in : node.inputs)
    if (in.valid()) bytes += graph.bytes(in);
  bytes += graph.bytes(node.outputs[0]);
  return static_cast<double>(bytes);
}

}  // namespace lemnos
