#include "graph/graph.h"

#include "base/error.h"
#include "graph/builder.h"

namespace lemnos {

const char* name_of(Section section) {
  static const char* const names[] = {"once", "zero", "micro", "update"};
  return names[static_cast<size_t>(section)];
}

int64_t Graph::bytes(ValueId id) const {
  return element_count(shape(id)) * byte_size(dtype(id));
}

ValueId Graph::find(std::string_view name) const {
  const auto found = names.find(name);
  return found == names.end() ? ValueId{} : found->second;
}

ValueId Graph::by_name(std::string_view name) const {
  const ValueId id = find(name);
  LEMNOS_CHECK(id.valid(), "the graph has no value named {}", name);
  return id;
}

std::vector<ValueId> Graph::of_kind(ValueKind kind) const {
  std::vector<ValueId> found;
  for (uint32_t i = 0; i < values.size(); ++i)
    if (values[i].kind == kind) found.push_back({i});
  return found;
}

std::vector<int32_t> producer_of(const Graph& graph) {
  std::vector<int32_t> producers(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    for (const ValueId out : graph.nodes[n].outputs) {
      LEMNOS_CHECK(producers[out.index] == -1, "value {} is made twice", out.index);
      producers[out.index] = static_cast<int32_t>(n);
    }
  return producers;
}

double flops_of(const Graph& graph, const Node& node) {
  return node.op->flops == nullptr ? 0.0 : node.op->flops(graph, node);
}

std::vector<ValueId> persistent_roots(const Graph& graph) {
  std::vector<ValueId> roots(graph.values.size());
  for (uint32_t i = 0; i < roots.size(); ++i) {
    const ValueKind kind = graph.values[i].kind;
    if (kind == ValueKind::state || kind == ValueKind::parameter) roots[i] = {i};
  }
  for (const Node& node : graph.nodes)
    for (const auto& [out, in] : node.op->inplace) {
      const auto o = static_cast<size_t>(out), i = static_cast<size_t>(in);
      if (o >= node.outputs.size() || i >= node.inputs.size() || !node.inputs[i].valid()) continue;
      const ValueId root = roots[node.inputs[i].index];
      if (!root.valid()) continue;
      if (graph[root].kind == ValueKind::state || node.op->updates_parameters)
        roots[node.outputs[o].index] = root;
    }
  return roots;
}

namespace {

std::string describe(const Graph& graph, ValueId id) {
  if (!id.valid()) return "-";
  const Value& value = graph[id];
  const std::string name = value.name.empty() ? format("%{}", id.index) : value.name;
  return format("{}:{}{}", name, name_of(value.type.dtype), to_string(value.type.shape));
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    std::string outputs, inputs;
    for (const ValueId id : node.outputs) outputs += (outputs.empty() ? "" : ", ") + describe(graph, id);
    for (const ValueId id : node.inputs) inputs += (inputs.empty() ? "" : ", ") + describe(graph, id);
    text += format("{} {} = {}({}) {} @{}\n", name_of(node.section), outputs, node.op->name, inputs,
                   to_string(node.attrs), node.scope);
  }
  return text;
}

ValueId Builder::add(Value value) {
  const ValueId id{static_cast<uint32_t>(graph_.values.size())};
  if (!value.name.empty()) {
    const bool fresh = graph_.names.emplace(value.name, id).second;
    LEMNOS_CHECK(fresh, "two values named {}", value.name);
  }
  graph_.values.push_back(std::move(value));
  return id;
}

ValueId Builder::input(std::string name, Shape shape, DType dtype) {
  return add({std::move(name), {std::move(shape), dtype}, ValueKind::input, false});
}

ValueId Builder::parameter(std::string name, Shape shape, DType dtype, bool trainable) {
  LEMNOS_CHECK(!trainable || dtype == DType::f32, "{} is trained but not f32", name);
  return add({std::move(name), {std::move(shape), dtype}, ValueKind::parameter, trainable});
}

ValueId Builder::state(std::string name, Shape shape, DType dtype) {
  return add({std::move(name), {std::move(shape), dtype}, ValueKind::state, false});
}

ValueId Builder::input_once(std::string_view name, Shape shape, DType dtype) {
  if (const ValueId id = graph_.find(name); id.valid()) {
    LEMNOS_CHECK(graph_[id].type == (ValueType{shape, dtype}), "input {} of another type", name);
    return id;
  }
  return input(std::string(name), std::move(shape), dtype);
}

ValueId Builder::state_once(std::string_view name, Shape shape, DType dtype) {
  if (const ValueId id = graph_.find(name); id.valid()) {
    LEMNOS_CHECK(graph_[id].type == (ValueType{shape, dtype}), "state {} of another type", name);
    return id;
  }
  return state(std::string(name), std::move(shape), dtype);
}

std::vector<ValueId> Builder::emit_once(const OpDef& op, const std::vector<ValueId>& inputs) {
  std::vector<ValueId>& made = once_[{&op, inputs, section}];
  if (made.empty()) made = emit(op, inputs);
  return made;
}

std::vector<ValueId> Builder::emit(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs) {
  std::vector<const ValueType*> types;
  for (const ValueId id : inputs) types.push_back(id.valid() ? &graph_[id].type : nullptr);
  std::vector<ValueType> made = op.infer({types, attrs});
  Node node{&op, std::move(attrs), std::move(inputs), {}, section, scope};
  for (ValueType& type : made)
    node.outputs.push_back(add({{}, std::move(type), ValueKind::activation, false}));
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

}  // namespace lemnos
