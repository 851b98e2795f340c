#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace lemnos {

/// Appends to a graph; reads like eager code. Op functions (ops/*/*.h) take a Builder first.
class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}
  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  const Shape& shape(ValueId id) const { return graph_.shape(id); }

  ValueId input(std::string name, Shape shape, DType dtype);
  ValueId parameter(std::string name, Shape shape, DType dtype, bool trainable);
  ValueId state(std::string name, Shape shape, DType dtype = DType::f32);
  /// The named input/parameter/state when it exists (type CHECKed), else a new one.
  ValueId input_once(std::string_view name, Shape shape, DType dtype);
  ValueId state_once(std::string_view name, Shape shape, DType dtype = DType::f32);

  /// Appends a node; shapes come from op.infer.
  std::vector<ValueId> emit(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {});
  /// For ops whose first output is the result.
  ValueId emit1(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return emit(op, std::move(inputs), std::move(attrs)).front();
  }

  Section section = Section::micro;
  std::string scope;

 private:
  ValueId add(Value value);
  Graph& graph_;
};

}  // namespace lemnos
