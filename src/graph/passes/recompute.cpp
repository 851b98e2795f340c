#include "graph/passes/recompute.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/error.h"
#include "graph/op.h"

namespace lemnos {
namespace {

constexpr std::string_view kPrefix = "recompute/";
/// Multiply-adds x 2 in the time of a byte's transfer; GPUs have 8 to 20.
constexpr double kFlopsPerByte = 12;

class StepFinder {
 public:
  StepFinder(const Graph& graph, size_t forward_nodes)
      : graph_(graph), count_(forward_nodes), producers_(producer_of(graph)), persistent_(persistent_roots(graph)) {
    find_kept();
    find_exits();
  }

  std::vector<RecomputeStep> steps() const {
    std::vector<RecomputeStep> found;
    for (size_t n = 0; n < count_; ++n) {
      const Node& node = graph_.nodes[n];
      RecomputeStep step{.layer = layer_of(node.scope), .bytes = kept_bytes(node)};
      if (step.layer >= 0 && step.bytes > 0 && add(node, step)) found.push_back(std::move(step));
    }
    std::stable_sort(found.begin(), found.end(), [](const RecomputeStep& a, const RecomputeStep& b) {
      if (a.products != b.products) return b.products;
      return a.cost * static_cast<double>(b.bytes) < b.cost * static_cast<double>(a.bytes);
    });
    return found;
  }

 private:
  bool is_forward(ValueId id) const {
    return producers_[id.index] >= 0 && static_cast<size_t>(producers_[id.index]) < count_;
  }
  const Node& producer(ValueId id) const { return graph_.nodes[static_cast<size_t>(producers_[id.index])]; }

  /// kept_[v]: the backward pass reads v or a view of it.
  void find_kept() {
    kept_.assign(graph_.values.size(), false);
    for (size_t n = count_; n < graph_.nodes.size(); ++n)
      for (const ValueId in : graph_.nodes[n].inputs)
        if (in.valid() && is_forward(in)) kept_[in.index] = true;
    spread_over_views(kept_);
  }

  /// What holds for a view holds for what it is a view of.
  void spread_over_views(std::vector<bool>& holds) const {
    for (size_t n = count_; n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.op->is_view && holds[node.outputs[0].index]) holds[node.inputs[0].index] = true;
    }
  }

  /// exit_[v]: a layer hands v to what follows it.
  void find_exits() {
    exit_.assign(graph_.values.size(), false);
    for (size_t n = 0; n < count_; ++n)
      for (const ValueId in : graph_.nodes[n].inputs)
        if (in.valid() && is_forward(in) && layer_of(producer(in).scope) != layer_of(graph_.nodes[n].scope))
          exit_[in.index] = true;
    for (const ValueId id : graph_.results) exit_[id.index] = true;
    spread_over_views(exit_);
  }

  /// States may have changed by the time of the copy, but for those of Section::once; parameters do not before the
  /// update.
  bool is_state(ValueId id) const {
    const ValueId root = id.valid() ? persistent_[id.index] : ValueId{};
    if (!root.valid() || graph_[root].kind != ValueKind::state) return false;
    const int32_t made_by = producers_[id.index];
    return made_by < 0 || graph_.nodes[static_cast<size_t>(made_by)].section != Section::once;
  }

  bool can_repeat(const Node& node) const {
    return node.section == Section::micro &&
           std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return is_state(in); }) &&
           std::none_of(node.outputs.begin(), node.outputs.end(),
                        [&](ValueId out) { return persistent_[out.index].valid() || exit_[out.index]; });
  }

  double cost_of(const Node& node) const {
    if (node.op->is_view) return 0;
    double bytes = 0;
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const ValueId id : *list)
        if (id.valid()) bytes += static_cast<double>(graph_.bytes(id));
    return bytes + flops_of(graph_, node) / kFlopsPerByte;
  }

  /// Adds the node's outputs and, as far as they are not kept, what they are made from, back to the
  /// layer's input at most (which is kept for it when nothing else does). False when it cannot be done.
  bool add(const Node& node, RecomputeStep& step) const {
    if (!can_repeat(node)) return false;
    step.cost += cost_of(node);
    step.products = step.products || node.op->flops != nullptr;
    step.values.insert(step.values.end(), node.outputs.begin(), node.outputs.end());
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
      if (!in.valid() || !is_forward(in) || persistent_[in.index].valid() || kept_[in.index] || exit_[in.index]) return true;
      const bool known = std::find(step.values.begin(), step.values.end(), in) != step.values.end();
      return known || add(producer(in), step);
    });
  }

  int64_t kept_bytes(const Node& node) const {
    int64_t bytes = 0;
    if (!node.op->is_view)
      for (const ValueId out : node.outputs)
        if (kept_[out.index]) bytes += graph_.bytes(out);
    return bytes;
  }

  const Graph& graph_;
  const size_t count_;
  std::vector<int32_t> producers_;
  std::vector<ValueId> persistent_;
  std::vector<bool> kept_, exit_;
};

class Rewriter {
 public:
  Rewriter(const Graph& graph, size_t forward_nodes, std::span<const RecomputeStep> steps)
      : from_(graph), count_(forward_nodes), producers_(producer_of(graph)), again_(graph.values.size(), false),
        copies_(graph.values.size()), to_(graph) {
    for (const RecomputeStep& step : steps)
      for (const ValueId id : step.values) again_[id.index] = true;
    for (size_t n = 0; n < count_; ++n) {  // a view would keep what it is a view of
      const Node& node = from_.nodes[n];
      if (node.op->is_view && again_[node.inputs[0].index]) again_[node.outputs[0].index] = true;
    }
  }

  Graph run() {
    to_.nodes.resize(count_);
    for (size_t n = count_; n < from_.nodes.size(); ++n) {
      Node node = from_.nodes[n];
      for (ValueId& in : node.inputs) in = available(in);
      to_.nodes.push_back(std::move(node));
    }
    return std::move(to_);
  }

 private:
  ValueId available(ValueId id) {
    if (!id.valid() || !again_[id.index]) return id;
    if (!copies_[id.index].valid()) repeat(from_.nodes[static_cast<size_t>(producers_[id.index])]);
    return copies_[id.index];
  }

  void repeat(const Node& original) {
    Node node = original;
    for (ValueId& in : node.inputs) in = available(in);
    for (ValueId& out : node.outputs) {
      const ValueId copy{static_cast<uint32_t>(to_.values.size())};
      to_.values.push_back(from_[out]);
      copies_[out.index] = copy;
      out = copy;
    }
    node.scope = std::string(kPrefix) + original.scope;
    to_.nodes.push_back(std::move(node));
  }

  const Graph& from_;
  const size_t count_;
  std::vector<int32_t> producers_;
  std::vector<bool> again_;
  std::vector<ValueId> copies_;
  Graph to_;
};

}  // namespace

std::vector<RecomputeStep> recompute_steps(const Graph& graph, size_t forward_nodes) {
  return StepFinder(graph, forward_nodes).steps();
}

Graph recompute(const Graph& graph, size_t forward_nodes, std::span<const RecomputeStep> steps) {
  LEMNOS_CHECK(forward_nodes <= graph.nodes.size());
  return Rewriter(graph, forward_nodes, steps).run();
}

bool is_recompute(std::string_view scope) { return scope.starts_with(kPrefix); }

int64_t layer_of(std::string_view scope) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = scope.find(kLayers);
  if (at == std::string_view::npos) return -1;
  const char* const digits = scope.data() + at + kLayers.size();
  int64_t layer = -1;
  std::from_chars(digits, scope.data() + scope.size(), layer);
  return layer;
}

}  // namespace lemnos
