#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lemnos {

/// Gradient checkpointing on a training graph: values of the forward pass that the backward pass reads
/// are made again by copies of their nodes, put right before the first reader, instead of being kept.
/// A copy has the op, the attributes and (made again or kept) the inputs of the original, so every value
/// has the bits it had. The pass knows nothing of sizes that fit: see train/recompute_plan.h.

/// Something that need not be kept.
struct RecomputeStep {
  std::vector<ValueId> values;  // made again from others, which are kept or made again themselves
  int64_t layer = 0;
  bool products = false;  // nodes that count their multiply-adds are among those copied
  int64_t bytes = 0;      // what keeping the values takes
  double cost = 0;        // of making them again: bytes moved, and multiply-adds counted as bytes
};

/// All there is to give up, in the order in which it should be: what takes no products (norms, swiglu,
/// dropout, expert rows), then the outputs of Linears, experts and attention; both by cost per byte, the
/// first layers before later ones, since those are made again when the rest is gone. All of a layer's
/// steps leave its input alone. Nodes [0, forward_nodes) are the forward pass; a layer is what has
/// "layers.N" in its scope.
std::vector<RecomputeStep> recompute_steps(const Graph& graph, size_t forward_nodes);

/// The graph with the values of `steps` made again. Ids of values that were there stay.
Graph recompute(const Graph& graph, size_t forward_nodes, std::span<const RecomputeStep> steps);

/// True for the scope of a node that makes something again: "recompute/" and the original's scope.
bool is_recompute(std::string_view scope);

/// N of "model.layers.N.mlp"; -1 when the scope is in no layer.
int64_t layer_of(std::string_view scope);

}  // namespace lemnos
