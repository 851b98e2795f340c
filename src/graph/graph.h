#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attrs.h"
#include "graph/value.h"

namespace lemnos {

struct OpDef;

/// A step is three recorded parts: `zero` clears sums once per window, `micro` runs once per
/// micro-batch (forward and backward, adding to the gradients), `update` runs the optimizer.
/// Graphs without training have `micro` only. `once` comes before all of them when weights were
/// written: what follows from frozen weights alone, kept in states.
enum class Section : uint8_t { once, zero, micro, update };
inline constexpr Section kSections[] = {Section::once, Section::zero, Section::micro, Section::update};
const char* name_of(Section section);

struct Node {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<ValueId> inputs;   // an optional input that is absent is an invalid id
  std::vector<ValueId> outputs;
  Section section = Section::micro;
  std::string scope;  // the module it belongs to, e.g. "model.layers.0.mlp"
};

/// Plain data: values, and nodes in execution order. Each value is made by at most one node.
/// An op that updates in place (see OpDef::inplace) makes a new value that shares storage with the
/// input; the old value must not be read afterwards.
struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> results;  // activations to keep until the end of the section (e.g. logits)

  const Value& operator[](ValueId id) const { return values.at(id.index); }
  Value& operator[](ValueId id) { return values.at(id.index); }
  const Shape& shape(ValueId id) const { return (*this)[id].type.shape; }
  DType dtype(ValueId id) const { return (*this)[id].type.dtype; }
  int64_t bytes(ValueId id) const;

  /// The input, parameter or state of that name; CHECKs that it is there.
  ValueId by_name(std::string_view name) const;
  /// Invalid id when there is none.
  ValueId find(std::string_view name) const;
  /// Indices of values of a kind, in order of creation.
  std::vector<ValueId> of_kind(ValueKind kind) const;

  std::map<std::string, ValueId, std::less<>> names;
};

/// producer_of(g)[v] is the index of the node that makes value v, or -1.
std::vector<int32_t> producer_of(const Graph& graph);

/// persistent_roots(g)[v]: the state or parameter whose storage value v uses, either v itself or the
/// start of a chain of in-place updates that ends in v; invalid for inputs and plain activations.
std::vector<ValueId> persistent_roots(const Graph& graph);

/// Multiply-adds x 2 of a node, 0 where its op does not count them.
double flops_of(const Graph& graph, const Node& node);

/// One line per node: the printed plan that refactors must not change.
std::string to_string(const Graph& graph);

}  // namespace lemnos
