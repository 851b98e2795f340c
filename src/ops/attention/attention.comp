#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
//! variant split -DSPLIT=1
//! requires GL_KHR_cooperative_matrix split
// o[q] = sum over k of p[q][k] v[k], p = softmax over the visible k of scale * (q . k): a key is
// visible when it is in the query's segment and q - window < k <= q.
// Saves stats[q] = {maximum of the scaled scores, 1 / sum of their exponentials} for backward.
//
// A workgroup owns kTileRows queries (x) of one head (y) and visits the tiles of keys in order,
// counted from the segment's first row; it keeps the running maximum, the sum and o, rescaled when
// the maximum grows. Hidden keys change no bit, so a row's bits are a function of its own visible
// tiles. Sums: each lane its columns of all tiles, then the lanes (row_total); o as in accumulate.
#extension GL_GOOGLE_include_directive : require
#ifdef CPU_PATH
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/attention/attention.params.h"

PUSH(AttentionParams);
#include "ops/attention/tile.glsl"

// With CACHED the keys are a cache of one sequence and q its last `rows` rows.
layout(constant_id = 5) const bool CACHED = false;

const float kHidden = -1e30;

RowTile query_tile(int cached) {
  if (!CACHED) return row_tile(p.tiles);
  const int end = cached + int(p.rows);
  const int first = cached + int(gl_WorkGroupID.x * kTileRows);
  return RowTile(first, min(first + int(kTileRows), end) - 1, 0, end);
}

vec4 visible_scores(vec4 product, int query, ivec4 keys) {
  precise vec4 s = p.scale * product;
  return mix(vec4(kHidden), s, seen(ivec4(query), keys, p.window));
}

// Hidden scores weigh nothing, also in a row that has seen no key yet.
vec4 weights(vec4 s, float maximum) {
  precise vec4 x = s - maximum;
  return mix(exp4(x), vec4(0), lessThanEqual(s, vec4(0.5 * kHidden)));
}

void main() {
  const int cached = CACHED ? I32(p.tiles).v[0] : 0;
  const RowTile t = query_tile(cached);
  if (t.last < t.first) return;
  const uint head = gl_WorkGroupID.y, kv_head = head / (p.heads / p.kv_heads);
  const Matrix q = Matrix(p.q, head * DEPTH, p.heads * DEPTH, t.last - cached, kTexelsQ);
  const Matrix k = Matrix(p.k, kv_head * DEPTH, p.kv_heads * DEPTH, t.last, kTexelsK);
  const Matrix v = Matrix(p.v, kv_head * DEPTH_V, p.kv_heads * DEPTH_V, t.last, kTexelsV);

  vec4 o[ROWS][CHUNKS];
  float maximum[ROWS], total[ROWS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    maximum[i] = kHidden;
    total[i] = 0;
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) o[i][j] = vec4(0);
  }
  const int first_key = column_tile(t.first - int(p.window) + 1, t.segment_first), query = t.first - cached;
  hold(0, q, query, DEPTH);
  begin(pair_of(q, query, k, first_key, DEPTH, 0));
  for (int key = first_key; key <= t.last; key += int(kColumns)) {
    vec4 s[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) s[i] = vec4(0);
    product_nt(s, pair_of(q, query, k, key, DEPTH, 0), columns_of_rows(v, key, DEPTH_V));
    [[unroll]] for (uint i = 0; i < ROWS; ++i)
      s[i] = visible_scores(s[i], min(t.first + row_of(i), t.last), columns_of(key));
    float tile_maximum[ROWS], decay[ROWS];
    row_maximum(s, tile_maximum);
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      const float grown = max(maximum[i], tile_maximum[i]);
      decay[i] = m_exp(maximum[i] - grown);
      maximum[i] = grown;
      s[i] = weights(s[i], grown);
      precise float sum = total[i] * decay[i] + ((s[i].x + s[i].y) + (s[i].z + s[i].w));
      total[i] = sum;
    }
    accumulate(o, decay, s, columns_of_rows(v, key, DEPTH_V), pair_of(q, query, k, key + int(kColumns), DEPTH, 0));
  }
  row_total(total);

  const Matrix to = Matrix(p.o, head * DEPTH_V, p.heads * DEPTH_V, t.last - cached, kNoTexels);
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    const int row = t.first - cached + row_of(i);
    if (row <= to.last) {
      const float inverse = m_div(1.0, total[i]);
      const uint start = row_start(to, row);
      [[unroll]] for (uint j = 0; j < CHUNKS; ++j)
        store4(to, start, kChunk * j + 4 * lane(), DEPTH_V, o[i][j] * inverse);
      const uint stat = 2 * (uint(row) * p.heads + head);
      if (lane() == 0) F32(p.stats).v[stat] = maximum[i];
      if (lane() == 1) F32(p.stats).v[stat + 1] = inverse;
    }
  }
}
