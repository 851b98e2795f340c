#include "graph/autodiff.h"

#include <array>
#include <memory>

#include "base/error.h"
#include "ops/elementwise/add.h"

namespace lemnos {

std::string gradient_name(const std::string& parameter) { return "grad/" + parameter; }

Autodiff::Autodiff(Builder& builder, std::vector<ValueId> wanted) : builder_(builder) {
  const Graph& graph = builder.graph();
  needed_.assign(graph.values.size(), false);
  for (uint32_t i = 0; i < graph.values.size(); ++i) needed_[i] = graph.values[i].trainable;
  for (const ValueId id : wanted) needed_[id.index] = true;
  for (const Node& node : graph.nodes) {
    if (node.op->grad == nullptr) continue;
    bool any = false;
    for (const ValueId in : node.inputs) any = any || needs(in);
    if (any)
      for (const ValueId out : node.outputs) needed_[out.index] = true;
  }
}

ValueId Autodiff::partial(ValueId value) {
  if (const auto found = gradients_.find(value); found != gradients_.end()) return found->second;
  const Value& of = builder_.graph()[value];
  if (!of.trainable) return {};
  const ValueId state = builder_.state_once(gradient_name(of.name), of.type.shape);
  gradients_[value] = state;
  return state;
}

void Autodiff::add(ValueId value, ValueId gradient) {
  const ValueId so_far = partial(value);
  gradients_[value] = so_far.valid() ? ops::accumulate(builder_, so_far, gradient) : gradient;
}

ValueId Autodiff::gradient(ValueId value) const {
  const auto found = gradients_.find(value);
  return found == gradients_.end() ? ValueId{} : found->second;
}

void Autodiff::run_node(const Node& node) {
  if (node.op->grad == nullptr) return;
  std::vector<ValueId> grad_outputs, partials;
  bool arrives = false;
  for (const ValueId out : node.outputs) {
    grad_outputs.push_back(gradient(out));
    arrives = arrives || grad_outputs.back().valid();
  }
  if (!arrives) return;
  const size_t count = node.inputs.size();
  const auto needed = std::make_unique<bool[]>(count);
  for (size_t i = 0; i < count; ++i) {
    needed[i] = needs(node.inputs[i]);
    partials.push_back(needed[i] ? partial(node.inputs[i]) : ValueId{});
  }
  builder_.scope = node.scope;
  GradContext context{builder_, node, grad_outputs, {needed.get(), count}, partials,
                      std::vector<bool>(count, false)};
  const std::vector<ValueId> made = node.op->grad(context);
  LEMNOS_CHECK(made.size() == count, "op {} returned {} gradients", node.op->name, made.size());
  for (size_t i = 0; i < count; ++i) {
    if (!needed[i] || !made[i].valid()) continue;
    if (context.included[i])
      set_partial(node.inputs[i], made[i]);
    else
      add(node.inputs[i], made[i]);
  }
}

void Autodiff::run() {
  const size_t last = builder_.graph().nodes.size();
  for (size_t n = last; n-- > 0;) {
    const Node node = builder_.graph().nodes[n];  // a copy: appending moves the vector
    bool wanted = false;
    for (const ValueId out : node.outputs) wanted = wanted || (out.index < needed_.size() && needs(out));
    if (node.section == Section::micro && wanted) run_node(node);
  }
}

}  // namespace lemnos
