#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
//! variant split -DSPLIT=1
//! requires GL_KHR_cooperative_matrix split
// grad_v[k] = sum over the group's heads and the queries that see k of p grad_o[q]
// grad_k[k] = scale * sum over the same of p (grad_o[q] . v[k] - delta[q]) q[q]
// p as in attention_grad_query.comp.
//
// A workgroup owns kTileRows keys (x) of one key-value head (y) and visits the group's heads in
// order and, in each, the tiles of queries from its own on, counted from the segment's first row.
// A dispatch adds the heads [first_head, end_head) to what the one before has stored (the same bits
// as one dispatch for all): lavapipe limits the iterations of a kernel. On GPUs, which need more
// workgroups than there are key-value heads, z takes one head of each group and
// attention_sum_heads.comp adds them.
#extension GL_GOOGLE_include_directive : require
#ifdef CPU_PATH
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/attention/attention_grad.params.h"

PUSH(AttentionGradParams);
#define GRADIENT 1
#include "ops/attention/tile.glsl"

void load_sums(out vec4 sum[ROWS][CHUNKS], Matrix m, int first, uint depth) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) {
      sum[i][j] = vec4(0);
      if (p.first_head > 0)
        sum[i][j] = load4(m, row_start(m, first + row_of(i)), kChunk * j + 4 * lane(), depth);
    }
}

void store_sums(vec4 sum[ROWS][CHUNKS], Matrix m, int first, uint depth, float scale) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    if (first + row_of(i) <= m.last)
      [[unroll]] for (uint j = 0; j < CHUNKS; ++j)
        store4(m, row_start(m, first + row_of(i)), kChunk * j + 4 * lane(), depth, scale * sum[i][j]);
}

vec4 at_queries(uvec2 address, uvec4 elements) {
  return vec4(F32(address).v[elements.x], F32(address).v[elements.y], F32(address).v[elements.z],
              F32(address).v[elements.w]);
}

void main() {
  const RowTile t = row_tile(p.tiles);
  if (t.last < t.first) return;
  const uint kv_head = gl_WorkGroupID.y, group = p.heads / p.kv_heads;
  const Matrix k = Matrix(p.k, kv_head * DEPTH, p.kv_heads * DEPTH, t.last, kTexelsK);
  const Matrix v = Matrix(p.v, kv_head * DEPTH_V, p.kv_heads * DEPTH_V, t.last, kTexelsV);
  const uint copy = gl_WorkGroupID.z * p.split_rows;  // rows before this workgroup's copy
  const Matrix to_k = Matrix(p.grad_k, k.start + copy * k.stride, k.stride, t.last, kNoTexels);
  const Matrix to_v = Matrix(p.grad_v, v.start + copy * v.stride, v.stride, t.last, kNoTexels);
  const uint first_head = p.split_rows > 0 ? gl_WorkGroupID.z : p.first_head;
  const uint end_head = p.split_rows > 0 ? gl_WorkGroupID.z + 1 : p.end_head;

  const int last_query = t.segment_end - 1 - t.last >= int(p.window) ? t.last + int(p.window) - 1
                                                                    : t.segment_end - 1;
  vec4 grad_k[ROWS][CHUNKS], grad_v[ROWS][CHUNKS];
  float keep[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i) keep[i] = 1;
  hold(0, k, t.first, DEPTH);
  hold(1, v, t.first, DEPTH_V);
  load_sums(grad_k, to_k, t.first, DEPTH);
  load_sums(grad_v, to_v, t.first, DEPTH_V);
  for (uint head = kv_head * group + first_head; head < kv_head * group + end_head; ++head) {
    const Matrix q = Matrix(p.q, head * DEPTH, p.heads * DEPTH, last_query, kTexelsQ);
    const Matrix grad_o = Matrix(p.grad_o, head * DEPTH_V, p.heads * DEPTH_V, last_query, kTexelsGradO);
    const int first_query = column_tile(t.first, t.segment_first);
    begin(pair_of(k, t.first, q, first_query, DEPTH, 0));
    for (int query = first_query; query <= last_query; query += int(kColumns)) {
      const ivec4 queries = columns_of(query);
      const uvec4 at = uvec4(min(queries, ivec4(last_query))) * p.heads + head;
      const vec4 maximum = at_queries(p.stats, 2 * at), inverse = at_queries(p.stats, 2 * at + 1);
      const vec4 delta = at_queries(p.delta, at);
      vec4 s[ROWS], grad_p[ROWS];
      [[unroll]] for (uint i = 0; i < ROWS; ++i) s[i] = grad_p[i] = vec4(0);
      const Operands scores_of = pair_of(k, t.first, q, query, DEPTH, 0), weighed_o = columns_of_rows(grad_o, query, DEPTH_V),
                     grads_of = pair_of(v, t.first, grad_o, query, DEPTH_V, 1), weighed_q = columns_of_rows(q, query, DEPTH);
      product_nt(s, scores_of, weighed_o);
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        bvec4 visible = seen(queries, ivec4(min(t.first + row_of(i), t.last)), p.window);
        visible = mix(bvec4(false), visible, lessThanEqual(queries, ivec4(last_query)));
        precise vec4 x = p.scale * s[i] - maximum;
        precise vec4 weight = exp4(x) * inverse;
        s[i] = mix(vec4(0), weight, visible);
      }
      accumulate(grad_v, keep, s, weighed_o, grads_of);
      product_nt(grad_p, grads_of, weighed_q);
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        precise vec4 grad_s = s[i] * (grad_p[i] - delta);
        s[i] = grad_s;
      }
      accumulate(grad_k, keep, s, weighed_q, pair_of(k, t.first, q, query + int(kColumns), DEPTH, 0));
    }
  }
  store_sums(grad_k, to_k, t.first, DEPTH, p.split_rows > 0 || p.end_head == group ? p.scale : 1.0);
  store_sums(grad_v, to_v, t.first, DEPTH_V, 1.0);
}
