#pragma once

#include <cstddef>

#include "graph/graph.h"

namespace lemnos {

/// What products in split precision can take along, on a finished graph (after differentiation):
/// - a product of low rank whose addend is such a product's result (LoRA's second one) is added as that is stored,
///   instead of reading and writing it again;
/// - where only the rows' largest magnitudes are read, the columns' are not found.
/// `forward_nodes`: how many nodes come before the backward pass, changed with them.
void fuse_linears(Graph& graph, size_t& forward_nodes);

}  // namespace lemnos
