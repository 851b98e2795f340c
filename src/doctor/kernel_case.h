#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doctor/op_axes.h"
#include "graph/op.h"

namespace lemnos::doctor {

/// One node alone in a graph of its own.
struct SingleNode {
  Graph graph;
  const Node& node() const { return graph.nodes.front(); }
};

/// What is checked of a run's node: an op, its attributes and types, on sizes that make it use the
/// same kernels.
struct KernelCase {
  const OpDef* op = nullptr;
  Attrs attrs;
  std::vector<std::optional<Value>> inputs;  // absent ones too; shapes are those of `sizes`
  std::optional<OpAxes> axes;                // absent: an op that op_axes.cpp does not list
  Sizes sizes;
  bool sampled = false;                      // else every element is compared
  bool smaller = false;                      // than the run's own shapes
  std::vector<std::string> kernels;          // "gemm_gpu.f32(0,0,1,...)", in order, each once
  std::string key;                           // what a pass is remembered by

  /// "m 4096, k 896, n 4864"
  std::string sizes_text() const;
};

/// The node of a case under other sizes (of its axes); the case's own by default.
SingleNode instantiate(const KernelCase& kernel_case, const Sizes& sizes);
SingleNode instantiate(const KernelCase& kernel_case);

struct CaseLimits {
  /// Multiply-adds x 2 (and bytes) that one kernel may cost on the device; larger shapes are cut down.
  double device_work = 0;
  /// The same for the reference, in double on one core.
  double reference_work = 2e8;
  /// For a shape that is compared in full.
  double full_work = 1.2e8;
};
CaseLimits limits_for(const DeviceProfile& device);

/// Every distinct use of kernels in the graphs: in full on the smallest shape with the same kernels and
/// the same remainders by tiles, and sampled on the largest shape of the run.
std::vector<KernelCase> collect_cases(std::span<const Graph* const> graphs, const DeviceProfile& device);

/// Rows and columns that a sampled case compares, by axis.
std::map<char, std::vector<int64_t>> sampled_indices(const KernelCase& kernel_case);
/// Rows of attention's table that a sampled case compares.
std::vector<int64_t> sampled_rows(const KernelCase& kernel_case);

}  // namespace lemnos::doctor
