#include "train/recompute_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/plural.h"
#include "graph/passes/recompute.h"

namespace lemnos {
namespace {

using Steps = std::span<const RecomputeStep>;

/// Layers of which the first `count` steps leave nothing but the input.
std::set<int64_t> whole_layers(Steps steps, size_t count) {
  std::set<int64_t> layers;
  for (const RecomputeStep& step : steps.first(count)) layers.insert(step.layer);
  for (const RecomputeStep& step : steps.subspan(count)) layers.erase(step.layer);
  return layers;
}

Recomputed describe(const Graph& graph, const std::set<int64_t>& whole, size_t steps) {
  Recomputed result{.layers = std::ssize(whole), .steps = static_cast<int64_t>(steps)};
  double again = 0, once = 0;
  for (const Node& node : graph.nodes) {
    const bool repeated = is_recompute(node.scope);
    (repeated ? again : once) += node.section == Section::micro ? flops_of(graph, node) : 0.0;
    if (repeated && !node.op->is_view && !whole.contains(layer_of(node.scope))) ++result.ops[node.op->name];
  }
  result.share = once > 0 ? again / once : 0;
  return result;
}

/// With the first `count` of all steps taken.
PlannedGraph with_steps(const PlannedGraph& planned, Steps steps, size_t count, const PlanOptions& options) {
  PlannedGraph result = planned;
  result.graph = recompute(planned.graph, planned.forward_nodes, steps.first(count));
  result.arena = plan_arena(result.graph, options);
  result.recomputed = describe(result.graph, whole_layers(steps, count), count);
  return result;
}

PlannedGraph with_all_steps(const PlannedGraph& planned, const PlanOptions& options) {
  const std::vector<RecomputeStep> steps = recompute_steps(planned.graph, planned.forward_nodes);
  return with_steps(planned, steps, steps.size(), options);
}

int64_t total_bytes(const ArenaSizes& sizes) {
  return std::accumulate(sizes.blocks.begin(), sizes.blocks.end(), sizes.input_bytes);
}

/// What one more graph may take beside those that are planned.
struct Room {
  std::vector<const ArenaPlan*> arenas;
  int64_t bytes = 0;

  bool holds(const ArenaPlan& arena) const {
    std::vector<const ArenaPlan*> all = arenas;
    all.push_back(&arena);
    return total_bytes(merge_arenas(all)) <= bytes;
  }
};

/// The shortest run of steps that fits, by bisection; each step can only lower the peak.
PlannedGraph fitted(const PlannedGraph& planned, const Room& room, const PlanOptions& options) {
  if (room.holds(planned.arena)) return planned;
  const std::vector<RecomputeStep> steps = recompute_steps(planned.graph, planned.forward_nodes);
  PlannedGraph best = with_steps(planned, steps, steps.size(), options);
  size_t too_few = 0, enough = steps.size();
  while (room.holds(best.arena) && enough - too_few > 1) {
    const size_t middle = (too_few + enough) / 2;
    PlannedGraph trial = with_steps(planned, steps, middle, options);
    const bool fits = room.holds(trial.arena);
    (fits ? enough : too_few) = middle;
    if (fits) best = std::move(trial);
  }
  return best;
}

void fit_all(EnginePlan& plan, int64_t limit, const PlanOptions& options) {
  Room room{.bytes = limit - std::accumulate(plan.storage.blocks.begin(), plan.storage.blocks.end(), int64_t{0})};
  for (const PlannedGraph& planned : plan.logits) room.arenas.push_back(&planned.arena);
  std::vector<PlannedGraph*> largest_first;
  for (PlannedGraph& planned : plan.training) largest_first.push_back(&planned);
  const auto bytes_of = [](const PlannedGraph* planned) {
    return std::accumulate(planned->arena.blocks.begin(), planned->arena.blocks.end(), int64_t{0});
  };
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [&](const PlannedGraph* a, const PlannedGraph* b) { return bytes_of(a) > bytes_of(b); });
  for (PlannedGraph* planned : largest_first) {
    *planned = fitted(*planned, room, options);
    room.arenas.push_back(&planned->arena);
  }
}

}  // namespace

void plan_with_recompute(EnginePlan& plan, const EngineSetup& setup, const PlanOptions& options) {
  for (PlannedGraph& planned : plan.training) planned.arena = plan_arena(planned.graph, options);
  if (!setup.train) return;
  if (setup.checkpointing == Checkpointing::every_layer)
    for (PlannedGraph& planned : plan.training) planned = with_all_steps(planned, options);
  if (setup.checkpointing == Checkpointing::when_needed && setup.memory_limit > 0)
    fit_all(plan, setup.memory_limit, options);
}

std::string to_string(const Recomputed& recomputed) {
  std::string text;
  for (const auto& [op, count] : recomputed.ops)
    text += format("{}{} in {}", text.empty() ? "" : ", ", op, counted(count, "place"));
  if (recomputed.layers > 0)
    text += format("{}{}", text.empty() ? "" : ", ", counted(recomputed.layers, "whole layer"));
  return text.empty() ? text : format("{} ({:.1f} % more multiply-adds)", text, 100 * recomputed.share);
}

}  // namespace lemnos
