#include "ops/attention/attention.h"

#include "base/error.h"
#include "ops/attention/attention_grad.h"
#include "ops/attention/forward.h"
#include "ops/attention/reference.h"
#include "ops/attention/tile_shape.h"
#include "ops/attention/tiles.h"

namespace lemnos {
namespace {

enum Input { kQ, kK, kV, kTiles };

std::vector<ValueType> infer(const InferContext& c) {
  const Shape &q = c[kQ].shape, &k = c[kK].shape, &v = c[kV].shape;
  check_attention_shapes(q, k, v);
  LEMNOS_CHECK(q[0] == k[0], "attention of q {} over k {}", to_string(q), to_string(k));
  const ValueType& tiles = c[kTiles];
  LEMNOS_CHECK(tiles.dtype == DType::i32 && tiles.shape.size() == 2 && tiles.shape[1] == 4,
               "attention with tiles {}", to_string(tiles.shape));
  return {{{q[0], q[1], v[2]}, DType::f32}, {{q[0], q[1], 2}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  const HostTensor &q = c.in(kQ), &tiles = c.in(kTiles);
  const double scale = c.attrs.get_double("scale");
  const int64_t window = c.attrs.get_int("window"), group = q.shape[1] / c.in(kK).shape[1];
  for (int64_t entry = 0; entry < tiles.shape[0]; ++entry) {
    const double* tile = tiles.data.data() + 4 * entry;
    const auto first = static_cast<int64_t>(tile[0]), count = static_cast<int64_t>(tile[1]);
    for (int64_t row = first; row < first + count; ++row)
      for (int64_t head = 0; head < q.shape[1]; ++head)
        attention_output(attention_row(vector_at(q, row, head), c.in(kK), head / group, row,
                                       static_cast<int64_t>(tile[2]), scale, window),
                         c.in(kV), head / group, vector_at(c.out(0), row, head),
                         vector_at(c.out(1), row, head));
  }
}

std::vector<ValueId> grad(GradContext& c) {
  const Node& node = c.node;
  const auto grads = ops::attention_grad(
      c.builder, {node.inputs[kQ], node.inputs[kK], node.inputs[kV], node.inputs[kTiles]},
      {node.outputs[0], node.outputs[1]}, c.grad_outputs[0], node.attrs.get_double("scale"),
      node.attrs.get_int("window"));
  return {grads.q, grads.k, grads.v, {}};
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const Shape &q = c.shape_in(kQ), &k = c.shape_in(kK), &v = c.shape_in(kV);
  const TileShape shape = kernel_tile({q[2], v[2], 1, 1}, c);
  check_cpu_loops(shape, q[0]);
  AttentionParams params = attention_params(c, q, k);
  const int64_t groups = c.shape_in(kTiles)[0] * (kAttentionTile / shape.rows);
  KernelCall call = kernel(kernel_name("attention", c), params,
                           {c.in(kQ), c.in(kK), c.in(kV), c.out(0), c.out(1), c.in(kTiles)},
                           group_grid(groups, q[1]), shape.constants);
  call.texels = attention_texels(c, {c.node.inputs[kQ], c.node.inputs[kK], c.node.inputs[kV]});
  return {call};
}

double flops(const Graph& graph, const Node& node) {
  return attention_flops(graph, node, graph.shape(node.inputs[kQ])[2],
                         graph.shape(node.inputs[kV])[2], 1, 1);
}

}  // namespace

extern const OpDef kAttentionOp;

const OpDef kAttentionOp{.name = "attention",
                         .infer = infer,
                         .reference = reference,
                         .grad = grad,
                         .dispatch = dispatch,
                         .flops = flops};

namespace ops {

ValueId attention(Builder& b, ValueId q, ValueId k, ValueId v, ValueId tiles, double scale,
                  int64_t window) {
  const bool split = on_matrix_units(b, b.shape(q)[2], b.shape(v)[2]);
  return b.emit1(kAttentionOp, {q, k, v, tiles}, {{"scale", scale}, {"window", window}, {"split", split}});
}

}  // namespace ops
}  // namespace lemnos
