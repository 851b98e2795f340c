#include "graph/interpreter.h"

#include "base/error.h"

namespace lemnos {

Interpreter::Interpreter(const Graph& graph)
    : graph_(graph),
      roots_(persistent_roots(graph)),
      tensors_(graph.values.size()),
      set_(graph.values.size(), false) {
  for (const ValueId id : graph.of_kind(ValueKind::state)) {
    const Shape& shape = graph.shape(id);
    set(id, {shape, std::vector<double>(static_cast<size_t>(element_count(shape)), 0.0)});
  }
}

void Interpreter::set(ValueId id, HostTensor tensor) {
  LEMNOS_CHECK(tensor.shape == graph_.shape(id), "{} has shape {}, not {}", graph_[id].name,
               to_string(graph_.shape(id)), to_string(tensor.shape));
  LEMNOS_CHECK(static_cast<int64_t>(tensor.data.size()) == element_count(tensor.shape));
  tensors_[id.index] = std::move(tensor);
  set_[id.index] = true;
}

const HostTensor& Interpreter::get(ValueId id) const {
  LEMNOS_CHECK(set_[id.index], "value {} {} was not computed", id.index, graph_[id].name);
  return tensors_[id.index];
}

void Interpreter::run_node(const Node& node) {
  std::vector<const HostTensor*> inputs;
  for (const ValueId id : node.inputs) inputs.push_back(id.valid() ? &get(id) : nullptr);
  std::vector<HostTensor> outputs;
  for (const ValueId id : node.outputs) {
    const Shape& shape = graph_.shape(id);
    outputs.push_back({shape, std::vector<double>(static_cast<size_t>(element_count(shape)), 0.0)});
  }
  node.op->reference({inputs, outputs, node.attrs});
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId root = roots_[node.outputs[i].index];
    if (root.valid()) set(root, outputs[i]);
    set(node.outputs[i], std::move(outputs[i]));
  }
}

void Interpreter::run(Section section) {
  for (const Node& node : graph_.nodes)
    if (node.section == section) run_node(node);
}

void Interpreter::run() {
  for (const Section section : kSections) run(section);
}

}  // namespace lemnos
