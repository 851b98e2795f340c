#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "graph/op.h"

namespace lemnos {

/// Which products of matrices run in split precision (ops/linear/gemm_split.comp): those with a large weight, or all
/// that can.
enum class SplitGemm : uint8_t { never, large, always };

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

  /// An op without attributes; when it was asked for before in this section, what it gave then.
  std::vector<ValueId> emit_once(const OpDef& op, const std::vector<ValueId>& inputs);

  Section section = Section::micro;
  SplitGemm split_gemm = SplitGemm::never;
  std::string scope;

 private:
  ValueId add(Value value);
  std::map<std::tuple<const OpDef*, std::vector<ValueId>, Section>, std::vector<ValueId>> once_;
  Graph& graph_;
};

}  // namespace lemnos
