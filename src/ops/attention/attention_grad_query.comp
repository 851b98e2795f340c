#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
//! variant split -DSPLIT=1
//! requires GL_KHR_cooperative_matrix split
// delta[q] = grad_o[q] . o[q]
// grad_q[q] = scale * sum over visible k of p (grad_o[q] . v[k] - delta[q]) k[k], with
// p = exp(scale * (q . k) - maximum) / sum from the saved stats: the forward's bits.
//
// A workgroup owns kTileRows queries (x) of one head (y) and visits the tiles of keys in order.
// Sums: as in attention.comp; delta is kept for attention_grad_key.comp.
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

void find_delta(out float delta[ROWS], Matrix o, Matrix grad_o, int first) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    const uint start = row_start(o, first + row_of(i));
    delta[i] = 0;
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) {
      const uint d = kChunk * j + 4 * lane();
      if (d < DEPTH_V) {
        precise vec4 x = load4(o, start, d, DEPTH_V) * load4(grad_o, start, d, DEPTH_V);
        precise float sum = delta[i] + ((x.x + x.y) + (x.z + x.w));
        delta[i] = sum;
      }
    }
  }
  row_total(delta);
}

void main() {
  const RowTile t = row_tile(p.tiles);
  if (t.last < t.first) return;
  const uint head = gl_WorkGroupID.y, kv_head = head / (p.heads / p.kv_heads);
  const Matrix q = Matrix(p.q, head * DEPTH, p.heads * DEPTH, t.last, kTexelsQ);
  const Matrix k = Matrix(p.k, kv_head * DEPTH, p.kv_heads * DEPTH, t.last, kTexelsK);
  const Matrix v = Matrix(p.v, kv_head * DEPTH_V, p.kv_heads * DEPTH_V, t.last, kTexelsV);
  const Matrix o = Matrix(p.o, head * DEPTH_V, p.heads * DEPTH_V, t.last, kNoTexels);
  const Matrix grad_o = Matrix(p.grad_o, head * DEPTH_V, p.heads * DEPTH_V, t.last, kTexelsGradO);

  float delta[ROWS], maximum[ROWS], inverse[ROWS], keep[ROWS];
  vec4 grad_q[ROWS][CHUNKS];
  find_delta(delta, o, grad_o, t.first);
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    const int row = t.first + row_of(i);
    const uint at = uint(min(row, t.last)) * p.heads + head;
    if (row <= t.last && lane() == 0) F32(p.delta).v[at] = delta[i];
    maximum[i] = F32(p.stats).v[2 * at];
    inverse[i] = F32(p.stats).v[2 * at + 1];
    keep[i] = 1;
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) grad_q[i][j] = vec4(0);
  }
  const int first_key = column_tile(t.first - int(p.window) + 1, t.segment_first);
  hold(0, q, t.first, DEPTH);
  hold(1, grad_o, t.first, DEPTH_V);
  begin(pair_of(q, t.first, k, first_key, DEPTH, 0));
  for (int key = first_key; key <= t.last; key += int(kColumns)) {
    const Operands scores_of = pair_of(q, t.first, k, key, DEPTH, 0), weighed = columns_of_rows(k, key, DEPTH),
                   grads_of = pair_of(grad_o, t.first, v, key, DEPTH_V, 1);
    vec4 s[ROWS], grad_p[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) s[i] = grad_p[i] = vec4(0);
    product_nt(s, scores_of, grads_of);
    product_nt(grad_p, grads_of, weighed);
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      const bvec4 visible = seen(ivec4(min(t.first + row_of(i), t.last)), columns_of(key), p.window);
      precise vec4 x = p.scale * s[i] - maximum[i];
      precise vec4 grad_s = exp4(x) * inverse[i] * (grad_p[i] - delta[i]);
      s[i] = mix(vec4(0), grad_s, visible);
    }
    accumulate(grad_q, keep, s, weighed, pair_of(q, t.first, k, key + int(kColumns), DEPTH, 0));
  }
  const Matrix to = Matrix(p.grad_q, q.start, q.stride, t.last, kNoTexels);
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    const int row = t.first + row_of(i);
    if (row <= t.last)
      [[unroll]] for (uint j = 0; j < CHUNKS; ++j)
        store4(to, row_start(to, row), kChunk * j + 4 * lane(), DEPTH, p.scale * grad_q[i][j]);
  }
}
