#pragma once

#include <span>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/kernel_call.h"

namespace lemnos {

class Builder;

/// A tensor of the double interpreter. Integers are held exactly as doubles too.
struct HostTensor {
  Shape shape;
  std::vector<double> data;
};

/// What infer sees: the node's inputs (absent ones are null) and attributes.
struct InferContext {
  std::span<const ValueType* const> inputs;
  const Attrs& attrs;
  const ValueType& operator[](size_t i) const { return *inputs[i]; }
};

struct ReferenceContext {
  std::span<const HostTensor* const> inputs;  // absent ones are null
  std::span<HostTensor> outputs;              // shaped, zeroed
  const Attrs& attrs;
  const HostTensor& in(size_t i) const { return *inputs[i]; }
  HostTensor& out(size_t i) const { return outputs[i]; }
};

/// What `grad` gets. For each input it may return
///  - an invalid id: no gradient flows (or `needed[i]` is false);
///  - a new value: that use's gradient; autodiff adds it to what is already there;
///  - when `partial[i]` is valid: a value that already includes partial[i] (made by an op which lists
///    it in `inplace`, such as a GEMM with an addend); say so by setting `included[i]`.
struct GradContext {
  Builder& builder;
  const Node& node;
  std::span<const ValueId> grad_outputs;  // invalid where no gradient arrives
  std::span<const bool> needed;
  std::span<const ValueId> partial;       // gradient summed so far for that input, or invalid
  std::vector<bool> included;             // sized like inputs, all false
};

struct DispatchContext {
  const Graph& graph;
  const Node& node;
  const DeviceProfile& device;
  const Shape& shape_in(size_t i) const { return graph.shape(node.inputs[i]); }
  const Shape& shape_out(size_t i) const { return graph.shape(node.outputs[i]); }
  BufferRef in(size_t i, int64_t byte_offset = 0) const { return {node.inputs[i], byte_offset}; }
  BufferRef out(size_t i, int64_t byte_offset = 0) const { return {node.outputs[i], byte_offset}; }
};

/// One operation. `infer` is the only place where shapes are checked; `reference` is the formula in
/// double; `grad` returns graph nodes; `dispatch` turns a node into kernels and can be tested
/// without a device. Scratch memory of kernels is an additional output that nobody reads.
struct OpDef {
  const char* name;
  std::vector<ValueType> (*infer)(const InferContext&);
  void (*reference)(const ReferenceContext&);
  std::vector<ValueId> (*grad)(GradContext&);  // null: not differentiable
  std::vector<KernelCall> (*dispatch)(const DispatchContext&);
  /// (output, input) pairs that may share storage. The planner does so when the input is an
  /// activation that dies here. When the input is a state (a gradient sum, a moment), or a parameter
  /// and `updates_parameters` is set, the op updates it: they always share.
  std::vector<std::pair<int, int>> inplace = {};
  bool updates_parameters = false;
  /// Output 0 is input 0 under another shape: always the same storage, no kernel. The input must be
  /// an activation.
  bool is_view = false;
  /// Multiply-adds x 2, for the watchdog split and the roofline; null counts the bytes only.
  double (*flops)(const Graph&, const Node&) = nullptr;
};

/// Every op of the program, from the build's generated table.
std::span<const OpDef* const> all_ops();

}  // namespace lemnos
