#include "ops/attention/attention_grad.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "ops/attention/attention_grad.params.h"
#include "ops/attention/attention_sum_heads.params.h"
#include "ops/attention/forward.h"
#include "ops/attention/reference.h"
#include "ops/attention/tile_shape.h"
#include "ops/attention/tiles.h"

namespace lemnos {
namespace {

enum Input { kQ, kK, kV, kTiles, kO, kStats, kGradO };
enum Output { kGradQ, kGradK, kGradV, kDelta, kPartialK, kPartialV };

/// One copy for each head of a group, for kernels that cannot wait for each other's sums.
ValueType partials_of(const Shape& sum, int64_t group) {
  return {{group > 1 ? group * element_count(sum) : 0}, DType::f32};
}

std::vector<ValueType> infer(const InferContext& c) {
  const Shape &q = c[kQ].shape, &k = c[kK].shape, &v = c[kV].shape;
  check_attention_shapes(q, k, v);
  LEMNOS_CHECK(c[kGradO].shape == c[kO].shape && c[kO].shape == (Shape{q[0], q[1], v[2]}));
  const int64_t group = q[1] / k[1];
  return {{q, DType::f32}, {k, DType::f32}, {v, DType::f32}, {{q[0], q[1]}, DType::f32},
          partials_of(k, group), partials_of(v, group)};
}

void reference_row(const ReferenceContext& c, int64_t row, int64_t segment_first, int64_t head) {
  const HostTensor &q = c.in(kQ), &k = c.in(kK), &v = c.in(kV);
  const int64_t kv_head = head / (q.shape[1] / k.shape[1]), depth = q.shape[2],
                depth_v = v.shape[2];
  const double scale = c.attrs.get_double("scale");
  const double* grad_o = vector_at(c.in(kGradO), row, head);
  const double delta = dot(grad_o, vector_at(c.in(kO), row, head), depth_v);
  c.out(kDelta).data[static_cast<size_t>(row * q.shape[1] + head)] = delta;
  const AttentionRow weights = attention_row(vector_at(q, row, head), k, kv_head, row,
                                             segment_first, scale, c.attrs.get_int("window"));
  for (size_t i = 0; i < weights.p.size(); ++i) {
    const int64_t key = weights.first_key + static_cast<int64_t>(i);
    const double grad_p = dot(grad_o, vector_at(v, key, kv_head), depth_v);
    const double grad_s = scale * weights.p[i] * (grad_p - delta);
    add_scaled(vector_at(c.out(kGradQ), row, head), grad_s, vector_at(k, key, kv_head), depth);
    add_scaled(vector_at(c.out(kGradK), key, kv_head), grad_s, vector_at(q, row, head), depth);
    add_scaled(vector_at(c.out(kGradV), key, kv_head), weights.p[i], grad_o, depth_v);
  }
}

void reference(const ReferenceContext& c) {
  const HostTensor& tiles = c.in(kTiles);
  for (int64_t entry = 0; entry < tiles.shape[0]; ++entry) {
    const double* tile = tiles.data.data() + 4 * entry;
    const auto first = static_cast<int64_t>(tile[0]), count = static_cast<int64_t>(tile[1]);
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t head = 0; head < c.in(kQ).shape[1]; ++head)
        reference_row(c, row, static_cast<int64_t>(tile[2]), head);
  }
}

AttentionGradParams make_params(const DispatchContext& c) {
  AttentionGradParams params{};
  params.heads = static_cast<uint32_t>(c.shape_in(kQ)[1]);
  params.kv_heads = static_cast<uint32_t>(c.shape_in(kK)[1]);
  params.window = window_of(c.node.attrs);
  params.scale = static_cast<float>(c.node.attrs.get_double("scale"));
  return params;
}

/// Heads of a group that one dispatch of attention_grad_key may visit.
int64_t heads_per_dispatch(const DispatchContext& c, const TileShape& shape, int64_t group) {
  if (!c.device.cpu_path) return group;
  check_cpu_loops(shape, c.shape_in(kQ)[0]);
  const int64_t loops = cpu_column_tiles(c.shape_in(kQ)[0]) * shape.loops_per_tile + 1;
  return std::clamp<int64_t>(kCpuLoopLimit / loops, 1, group);
}

std::vector<BufferRef> buffers_of(const DispatchContext& c, BufferRef grad_k, BufferRef grad_v) {
  return {c.in(kQ),     c.in(kK),     c.in(kV),      c.in(kTiles), c.in(kO), c.in(kStats),
          c.in(kGradO), c.out(kDelta), c.out(kGradQ), grad_k,       grad_v};
}

KernelCall sum_heads(const DispatchContext& c, Output partials, Output sum, int64_t group) {
  const int64_t count = element_count(c.shape_out(sum));
  const AttentionSumHeadsParams params{{}, {}, static_cast<uint32_t>(count), static_cast<uint32_t>(group)};
  return kernel("attention_sum_heads", params, {c.out(partials), c.out(sum)}, flat_groups(count, 64));
}

/// Each head of a group on its own workgroups, then the sum over the group.
std::vector<KernelCall> key_by_head(const DispatchContext& c, const TileShape& shape, int64_t group) {
  AttentionGradParams params = make_params(c);
  params.split_rows = static_cast<uint32_t>(c.shape_in(kK)[0]);
  std::array<uint32_t, 3> groups = group_grid(c.shape_in(kTiles)[0] * (kAttentionTile / shape.rows), c.shape_in(kK)[1]);
  groups[2] = static_cast<uint32_t>(group);
  std::vector<KernelCall> calls{kernel(kernel_name("attention_grad_key", c), params,
                                       buffers_of(c, c.out(kPartialK), c.out(kPartialV)), groups, shape.constants),
                                sum_heads(c, kPartialK, kGradK, group), sum_heads(c, kPartialV, kGradV, group)};
  calls.back().independent = true;
  return calls;
}

/// The heads of a group one after the other, in as few dispatches as the device allows.
std::vector<KernelCall> key_by_group(const DispatchContext& c, const TileShape& shape, int64_t group) {
  AttentionGradParams params = make_params(c);
  std::vector<KernelCall> calls;
  const int64_t heads = heads_per_dispatch(c, shape, group);
  for (int64_t first = 0; first < group; first += heads) {
    params.first_head = static_cast<uint32_t>(first);
    params.end_head = static_cast<uint32_t>(std::min(first + heads, group));
    calls.push_back(kernel(kernel_name("attention_grad_key", c), params,
                           buffers_of(c, c.out(kGradK), c.out(kGradV)),
                           group_grid(c.shape_in(kTiles)[0] * (kAttentionTile / shape.rows), c.shape_in(kK)[1]),
                           shape.constants));
  }
  return calls;
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape &q = c.shape_in(kQ), &k = c.shape_in(kK), &v = c.shape_in(kV);
  const int64_t group = q[1] / k[1];
  const TileShape by_query = kernel_tile({q[2], v[2], 2, 1}, c);
  check_cpu_loops(by_query, q[0]);
  std::vector<KernelCall> calls{kernel(kernel_name("attention_grad_query", c), make_params(c),
                                       buffers_of(c, c.out(kGradK), c.out(kGradV)),
                                       group_grid(c.shape_in(kTiles)[0] * (kAttentionTile / by_query.rows), q[1]),
                                       by_query.constants)};
  const TileShape by_key = kernel_tile({q[2], v[2], 2, 2}, c);
  const bool split = !c.device.cpu_path && group > 1;
  for (KernelCall& call : split ? key_by_head(c, by_key, group) : key_by_group(c, by_key, group))
    calls.push_back(std::move(call));
  if (c.device.cpu_path)
    for (KernelCall& call : calls)
      call.texels = attention_texels(c, {c.node.inputs[kQ], c.node.inputs[kK], c.node.inputs[kV], c.node.inputs[kGradO]});
  return calls;
}

double flops(const Graph& graph, const Node& node) {
  return attention_flops(graph, node, graph.shape(node.inputs[kQ])[2],
                         graph.shape(node.inputs[kV])[2], 4, 3);
}

}  // namespace

extern const OpDef kAttentionGradOp;

const OpDef kAttentionGradOp{.name = "attention_grad",
                             .infer = infer,
                             .reference = reference,
                             .grad = nullptr,
                             .dispatch = dispatch,
                             .flops = flops};

namespace ops {

AttentionGrads attention_grad(Builder& b, const AttentionInputs& in, const AttentionOutputs& out,
                              ValueId grad_o, double scale, int64_t window) {
  const bool split = on_matrix_units(b, b.shape(in.q)[2], b.shape(in.v)[2]);
  const auto grads = b.emit(kAttentionGradOp, {in.q, in.k, in.v, in.tiles, out.o, out.stats, grad_o},
                            {{"scale", scale}, {"window", window}, {"split", split}});
  return {grads[kGradQ], grads[kGradK], grads[kGradV]};
}

}  // namespace ops
}  // namespace lemnos
