#pragma once

#include <array>
#include <string>

#include "graph/op.h"
#include "ops/attention/attention.params.h"
#include "graph/builder.h"
#include "ops/attention/tile_shape.h"

namespace lemnos {

/// What the attention ops' host sides share.

/// CHECKs the shapes against each other; Error{unsupported} for a head that is too deep.
void check_attention_shapes(const Shape& q, const Shape& k, const Shape& v);

/// CHECKs that one pass over a segment as long as `rows` rows allow stays within the loop limit.
void check_cpu_loops(const TileShape& shape, int64_t rows);

/// The attribute `window` as kernels take it: 0 becomes a window longer than any segment.
uint32_t window_of(const Attrs& attrs);

/// Everything but the addresses.
AttentionParams attention_params(const DispatchContext& c, const Shape& q, const Shape& k);

/// Whether heads of these depths run on matrix units (tile_split.glsl), for the attribute `split`.
bool on_matrix_units(const Builder& b, int64_t depth, int64_t depth_v);

/// Of the kernel that a node uses: "<stem>.cpu", "<stem>.gpu" or "<stem>.split", and its tile.
std::string kernel_name(const char* stem, const DispatchContext& c);
/// What attention_*.cpu reads through texel buffers, in the order of tile_cpu.glsl; nothing for other kernels.
std::vector<TexelInput> attention_texels(const DispatchContext& c, std::initializer_list<ValueId> values);

TileShape kernel_tile(const TileWork& work, const DispatchContext& c);

/// CHECKs that the device takes that many groups.
std::array<uint32_t, 3> group_grid(int64_t x, int64_t y);

/// Multiply-adds x 2 of products over the depths of q and of v, as if all rows were one segment.
double attention_flops(const Graph& graph, const Node& node, int64_t depth, int64_t depth_v,
                       int products, int products_v);

}  // namespace lemnos
