#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/op.h"

namespace lemnos {

/// Runs a graph in double on the host: the reference of every kernel and every gradient. Slow by
/// design; meant for shapes of tests.
class Interpreter {
 public:
  explicit Interpreter(const Graph& graph);

  /// Inputs, parameters and states must be set before they are read; states default to zero.
  void set(ValueId id, HostTensor tensor);
  void set(std::string_view name, HostTensor tensor) { set(graph_.by_name(name), std::move(tensor)); }
  /// The value after the last run; for a state or parameter, after its in-place updates.
  const HostTensor& get(ValueId id) const;
  const HostTensor& get(std::string_view name) const { return get(graph_.by_name(name)); }

  /// Runs the nodes of one section in order.
  void run(Section section);
  /// Runs every section once: zero, micro, update.
  void run();

 private:
  void run_node(const Node& node);
  const Graph& graph_;
  std::vector<ValueId> roots_;
  std::vector<HostTensor> tensors_;
  std::vector<bool> set_;
};

}  // namespace lemnos
