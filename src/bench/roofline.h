#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "train/gemm_choice.h"
#include "vk/device.h"

namespace lemnos {

/// What a device reaches with our own kernels, measured on it.
struct Roofline {
  double flops_per_ms = 0;  // a square product of matrices that fill the device, on the kernel that `gemm` gives
  double bytes_per_ms = 0;  // the sum of two large tensors

  /// The least time for so much work, when arithmetic and memory overlap fully.
  double least_ms(double flops, double bytes) const;
};

/// Less than a second on a GPU; smaller shapes on a CPU device.
Roofline measure_roofline(vk::Device& device, GemmChoice gemm);

/// What a node must at least read and write: its inputs and its first result once. Others are scratch memory, statistics
/// or, of a few fused gradients, more results, which makes this a lower bound.
double least_bytes(const Graph& graph, const Node& node);

}  // namespace lemnos
