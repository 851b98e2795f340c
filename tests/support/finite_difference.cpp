#include "support/finite_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lemnos::test {

HostTensor random_tensor(const Shape& shape, uint64_t seed, double low, double high) {
  HostTensor tensor{shape, std::vector<double>(static_cast<size_t>(element_count(shape)))};
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
  for (double& x : tensor.data) {
    state += 0x9e3779b97f4a7c15ull;  // splitmix64
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    // 24 bits: exact in f32, so that a device and the interpreter start from the same numbers.
    x = static_cast<float>(low + (high - low) * static_cast<double>(z >> 40) / static_cast<double>(1 << 24));
  }
  return tensor;
}

namespace {

double weighted_sum(const HostTensor& y, const HostTensor& weights) {
  double sum = 0;
  for (size_t i = 0; i < y.data.size(); ++i) sum += y.data[i] * weights.data[i];
  return sum;
}

double forward(const Graph& graph, ValueId y, const GradientCase& test, const HostTensor& weights) {
  Interpreter run(graph);
  for (const auto& [name, tensor] : test.values) run.set(name, tensor);
  run.run();
  return weighted_sum(run.get(y), weights);
}

}  // namespace

void check_gradients(const GradientCase& test, double tolerance) {
  Graph forward_graph;
  Builder forward_builder(forward_graph);
  const ValueId y = test.build(forward_builder);
  const HostTensor weights = random_tensor(forward_graph.shape(y), 77);

  Graph graph = forward_graph;
  Builder builder(graph);
  std::vector<ValueId> wanted;
  for (const std::string& name : test.wanted) wanted.push_back(graph.by_name(name));
  Autodiff autodiff(builder, wanted);
  const ValueId seed = builder.input("test.dy", graph.shape(y), DType::f32);
  autodiff.add(y, seed);
  autodiff.run();

  Interpreter run(graph);
  for (const auto& [name, tensor] : test.values) run.set(name, tensor);
  run.set(seed, weights);
  run.run();

  for (const std::string& name : test.wanted) {
    const ValueId gradient = autodiff.gradient(graph.by_name(name));
    ASSERT_TRUE(gradient.valid()) << "no gradient reached " << name;
    const HostTensor& analytic = run.get(gradient);
    std::vector<double> numeric(analytic.data.size());
    double largest = 1e-12;
    for (size_t i = 0; i < numeric.size(); ++i) {
      constexpr double kStep = 1e-5;
      GradientCase moved = test;
      double& x = moved.values.at(name).data[i];
      const double at = x;
      x = at + kStep;
      const double above = forward(forward_graph, y, moved, weights);
      x = at - kStep;
      const double below = forward(forward_graph, y, moved, weights);
      numeric[i] = (above - below) / (2 * kStep);
      largest = std::max(largest, std::abs(numeric[i]));
    }
    for (size_t i = 0; i < numeric.size(); ++i)
      ASSERT_NEAR(analytic.data[i], numeric[i], tolerance * largest) << name << " element " << i;
  }
}

}  // namespace lemnos::test
