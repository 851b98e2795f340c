#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/builder.h"

namespace lemnos {

/// Reverse mode over the nodes already in the graph; the gradient nodes are appended to it.
/// Only what leads to a trainable parameter (or to a `wanted` value) is differentiated: no input
/// gradient below the lowest trainable tensor, no weight gradient of frozen weights.
///
/// A trainable parameter's gradient is a state named "grad/<parameter>", to which each use adds.
class Autodiff {
 public:
  explicit Autodiff(Builder& builder, std::vector<ValueId> wanted = {});

  /// True when a gradient of `value` is needed.
  bool needs(ValueId value) const { return value.valid() && needed_[value.index]; }

  /// The gradient summed so far (for a trainable parameter: its state, even before the first use).
  ValueId partial(ValueId value);
  /// Replaces the sum by a value that includes the old one (ops that add in place).
  void set_partial(ValueId value, ValueId gradient) { gradients_[value] = gradient; }
  /// Adds one use's gradient.
  void add(ValueId value, ValueId gradient);

  /// Walks back from the values that have gradients by now.
  void run();

  /// After run(): the whole gradient; invalid when none reached it.
  ValueId gradient(ValueId value) const;

 private:
  void run_node(const Node& node);
  Builder& builder_;
  std::vector<bool> needed_;
  std::map<ValueId, ValueId> gradients_;
};

/// "grad/<parameter name>"
std::string gradient_name(const std::string& parameter);

}  // namespace lemnos
