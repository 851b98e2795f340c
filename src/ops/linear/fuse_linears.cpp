#include "ops/linear/fuse_linears.h"

#include <algorithm>

#include "graph/op.h"

namespace lemnos {

extern const OpDef kLinearOp;
extern const OpDef kLinearGradInputOp;
extern const OpDef kLargestOp;
extern const OpDef kLargestRowsOp;

namespace {

/// Above this the product is better a kernel of its own.
constexpr int64_t kMostRank = 64;

/// Where the two products keep what matters here.
struct Inputs {
  size_t addend, scales, count;
};

const Inputs* inputs_of(const Node& node) {
  static constexpr Inputs kLinear{3, 4, 6}, kGradInput{2, 3, 5};
  if (node.op == &kLinearOp) return &kLinear;
  return node.op == &kLinearGradInputOp ? &kGradInput : nullptr;
}

class Fuser {
 public:
  Fuser(Graph& graph, size_t forward_nodes)
      : graph_(graph), forward_nodes_(forward_nodes), producers_(producer_of(graph)), uses_(graph.values.size(), 0),
        gone_(graph.nodes.size(), false) {
    for (const Node& node : graph.nodes)
      for (const ValueId in : node.inputs)
        if (in.valid()) ++uses_[in.index];
    for (const ValueId id : graph.results) ++uses_[id.index];
  }

  size_t run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) fold_low_rank(n);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) measure_what_is_read(n);
    return remove_gone();
  }

 private:
  bool is_forward(size_t node) const { return node < forward_nodes_; }

  /// The product that node `n` adds to its own, which nobody else reads; -1 when there is none.
  int32_t added_product(size_t n) const {
    const Inputs* at = inputs_of(graph_.nodes[n]);
    if (at == nullptr) return -1;
    const ValueId addend = graph_.nodes[n].inputs[at->addend];
    if (!addend.valid() || uses_[addend.index] != 1 || producers_[addend.index] < 0) return -1;
    const auto found = static_cast<size_t>(producers_[addend.index]);
    const Node &node = graph_.nodes[n], &added = graph_.nodes[found];
    const bool together = added.op == node.op && added.section == node.section && is_forward(found) == is_forward(n);
    return together ? static_cast<int32_t>(found) : -1;
  }

  int64_t rank_of(const Node& node) const { return graph_.shape(node.inputs[0]).back(); }

  bool is_large(const Node& node, const Inputs& at) const {
    return node.inputs.size() == at.count && node.inputs[at.scales].valid() && node.attrs.get_double("scale") == 1;
  }

  bool is_low_rank(const Node& node, const Inputs& at) const {
    const int64_t rank = rank_of(node), columns = graph_.shape(node.outputs[0]).back();
    const bool biased = at.addend == 3 && node.inputs[2].valid();
    return node.inputs.size() == at.count && !biased && rank <= kMostRank && rank % 4 == 0 && columns % 4 == 0 &&
           graph_.dtype(node.inputs[1]) == DType::f32;
  }

  bool fits(const Node& large, const Node& low, const Inputs& at) const {
    return is_large(large, at) && is_low_rank(low, at) && rank_of(low) < rank_of(large);
  }

  /// Forward the low product adds to the large one, backward the other way round. The one that comes last stays.
  void fold_low_rank(size_t n) {
    const int32_t found = added_product(n);
    if (found < 0) return;
    const Node last = graph_.nodes[n], first = graph_.nodes[static_cast<size_t>(found)];
    const Inputs& at = *inputs_of(last);
    const bool last_is_large = fits(last, first, at);
    if (!last_is_large && !fits(first, last, at)) return;
    const Node &large = last_is_large ? last : first, &low = last_is_large ? first : last;
    Node fused = large;
    fused.inputs[at.addend] = first.inputs[at.addend];
    fused.inputs.push_back(low.inputs[0]);
    fused.inputs.push_back(low.inputs[1]);
    fused.attrs = large.attrs.with("low_rank_scale", low.attrs.get_double("scale"));
    fused.outputs[0] = last.outputs[0];
    for (const size_t scale : {at.scales, at.scales + 1})
      if (low.inputs[scale].valid()) --uses_[low.inputs[scale].index];
    graph_.nodes[n] = std::move(fused);
    gone_[static_cast<size_t>(found)] = true;
  }

  void measure_what_is_read(size_t n) {
    Node& node = graph_.nodes[n];
    if (node.op != &kLargestOp || node.section != Section::micro || uses_[node.outputs[1].index] > 0) return;
    gone_[n] = uses_[node.outputs[0].index] == 0;
    node.op = &kLargestRowsOp;
    node.outputs.resize(1);
  }

  size_t remove_gone() {
    std::vector<Node> kept;
    size_t forward = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (gone_[n]) continue;
      if (is_forward(n)) ++forward;
      kept.push_back(std::move(graph_.nodes[n]));
    }
    graph_.nodes = std::move(kept);
    return forward;
  }

  Graph& graph_;
  const size_t forward_nodes_;
  const std::vector<int32_t> producers_;
  std::vector<int> uses_;
  std::vector<bool> gone_;
};

}  // namespace

void fuse_linears(Graph& graph, size_t& forward_nodes) { forward_nodes = Fuser(graph, forward_nodes).run(); }

}  // namespace lemnos
