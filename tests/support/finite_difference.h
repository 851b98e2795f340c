#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/autodiff.h"
#include "graph/interpreter.h"

namespace lemnos::test {

/// Deterministic numbers in [low, high): the same on every machine.
HostTensor random_tensor(const Shape& shape, uint64_t seed, double low = -1.0, double high = 1.0);

/// Builds a graph whose output `y` is differentiated under the loss sum(weights * y), weights drawn
/// from a fixed seed.
struct GradientCase {
  /// Declares inputs/parameters with the Builder and returns the output.
  std::function<ValueId(Builder&)> build;
  /// Values by name for every input and parameter of the graph.
  std::map<std::string, HostTensor> values;
  /// Names of inputs or parameters whose gradient is checked.
  std::vector<std::string> wanted;
};

/// Compares autodiff's gradients, run in the double interpreter, with central differences of the
/// interpreter's forward. Relative to the gradient's largest magnitude the error stays under
/// `tolerance`. Reports through GoogleTest.
void check_gradients(const GradientCase& test, double tolerance = 1e-6);

}  // namespace lemnos::test
