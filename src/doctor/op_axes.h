#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace lemnos::doctor {

/// What the numbers of an input must be for its op to make sense of them.
enum class Role : uint8_t {
  any,           // random in [-1, 1)
  positive,      // random in [0.25, 1.25)
  bound,         // 1, which bounds random numbers in [-1, 1)
  clip_coef,     // 0.75
  loss_sum,      // a sum and its rounding error
  row_number,    // 0, 1, 2 ...
  index,         // random in [0, bound)
  target,        // as index, a seventh of them negative (ignored)
  step_f32,      // StepParams of a training step
  step_i32,
  tiles,         // attention's table of segments
  embed_order,   // of random ids below the bound
  embed_runs,
  experts,       // different ones for each token
  sort_order,    // moe_sort of such experts
  sort_offsets,
  sort_rows,
  route_weights, // moe_route of the op's own logits
  route_experts,
  attention_o,   // attention of the op's own q, k and v
  attention_stats,
  attention_do,  // random; zero outside of the sampled rows
};

/// One dimension: factor * the product of axes + plus, behind the first `offset` elements.
struct Dim {
  int64_t factor = 1;
  std::string axes;  // letters
  char offset = 0;   // an axis too, or 0
  int64_t plus = 0;
};

struct TensorAxes {
  std::vector<Dim> dims;
  Role role = Role::any;
  char bound = 0;       // axis, of the roles with one
  bool compared = true; // false: scratch memory
};

/// An op's tensors in terms of axes named by letters. Element (i, j, ...) of an output depends on
/// nothing but the inputs' elements with the same index along each `sampled` axis, so the reference
/// of a few rows and columns is the reference of the whole.
struct OpAxes {
  std::vector<TensorAxes> inputs, outputs;
  std::string sampled;
  std::map<std::string, char> attributes;  // integer attributes that are the size of an axis
  bool by_tiles = false;                   // sampled by rows of the table of tiles instead
};

using Sizes = std::map<char, int64_t>;

/// The axes of a node of a known op; null when the op is not in the table of op_axes.cpp.
/// Ops with any number of inputs have an axis of its own ('A', 'B' ...) for each.
const OpAxes* find_axes(const Node& node, OpAxes& storage);

int64_t extent(const Dim& dim, const Sizes& sizes);
Shape shape_of(const TensorAxes& tensor, const Sizes& sizes);
/// What each axis is in a node; tensors of higher rank are folded, last axes last.
Sizes sizes_of(const OpAxes& axes, const Graph& graph, const Node& node);
/// The node's attributes with those of `axes.attributes` taken from `sizes`.
Attrs attrs_with(const OpAxes& axes, const Attrs& attrs, const Sizes& sizes);

}  // namespace lemnos::doctor
