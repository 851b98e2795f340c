#version 460
// GEMM for lavapipe (see gemm.glsl): one 8-lane subgroup owns TM rows x 32*T4 columns, lane l the columns
// 32*j + 4*l .. + 3. Lanes load 8 rows of A at once and hand single values round by a shuffle from a constant
// lane. Order inside a chunk: 4 products at a time, (p0 + p1) + (p2 + p3), added in order.
//! variant f32 -O -DCPU_PATH=1
//! variant f16 -O -DCPU_PATH=1 -DB_F16=1
//! variant bf16 -O -DCPU_PATH=1 -DB_BF16=1
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "ops/linear/gemm.glsl"

layout(local_size_x = 8) in;
layout(constant_id = 7) const uint TM = 24;
layout(constant_id = 8) const uint T4 = 2;
layout(constant_id = 9) const bool ALL_SPLITS = false;  // adds the splits of K itself, in gemm_reduce's order
layout(constant_id = 10) const bool TEXELS = false;     // vectors of A and B come through texel buffers
// A load is a loop over the lanes, which is slow where the processor has no AVX-512; a texel fetch has none.
layout(set = 0, binding = 0) uniform samplerBuffer texels_a;
#if defined(B_F16) || defined(B_BF16)
layout(set = 0, binding = 1) uniform usamplerBuffer texels_b;
vec4 texel_b(uint i) {
  const uvec2 w = texelFetch(texels_b, int(i)).xy;
  return vec4(widen(w.x), widen(w.y));
}
#else
layout(set = 0, binding = 1) uniform samplerBuffer texels_b;
vec4 texel_b(uint i) { return texelFetch(texels_b, int(i)); }
#endif
const uint A_LOADS = (TM + 7) / 8;
#if defined(B_F16) || defined(B_BF16)
const uint kTexelBytesB = 8;
#else
const uint kTexelBytesB = 16;
#endif

vec4 acc[TM][T4], total[TM][T4], splits[TM][T4], a[A_LOADS], b[4][T4];
uvec2 base_b;
uint first_texel_b = 0;
uint a_row[A_LOADS], b_row[4][T4];        // first element of what each load walks along
uint a_column[A_LOADS], b_column[T4];     // used where the loads run across rows of memory
const uint a_unit = A_VEC ? 4 : 1, b_unit = B_VEC ? 4 : 1;

void place_loads(Rows rows, uint first_column) {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint i = 0; i < A_LOADS; ++i) {
    if (LAYOUT == TN) {  // lane: k + lane / 2, rows 4 * (lane & 1) .. + 3
      a_column[i] = rows.first + 8 * i + 4 * (lane & 1);
      if (A_VEC) a_column[i] = min(a_column[i], p.m - 4);
      a_row[i] = (lane / 2) * p.row_stride_a;
      if (A_VEC) a_row[i] = (a_row[i] + a_column[i]) / 4;
    } else {  // lane: row 8 * i + lane, k .. k + 3
      a_row[i] = min(rows.first + 8 * i + lane, rows.end - 1) * p.row_stride_a / a_unit;
    }
  }
  [[unroll]] for (uint j = 0; j < T4; ++j) {
    b_column[j] = first_column + 32 * j + 4 * lane;
    [[unroll]] for (uint q = 0; q < 4; ++q) {
      if (LAYOUT == NT) {
        b_row[q][j] = min(b_column[j] + q, p.n - 1) * p.row_stride_b / b_unit;
      } else {
        b_row[q][j] = q * p.row_stride_b;
        if (B_VEC) b_row[q][j] = (b_row[q][j] + min(b_column[j], p.n - 4)) / 4;
      }
    }
  }
}

vec4 load_a(uint i, uint at) {
  if (A_VEC && TEXELS) return texelFetch(texels_a, int(a_row[i] + at));
  if (A_VEC) return load4(p.a, a_row[i] + at);
  vec4 t;
  [[unroll]] for (uint r = 0; r < 4; ++r)
    t[r] = a_at(p.a, a_row[i] + at + (LAYOUT == TN ? min(a_column[i] + r, p.m - 1) : r));
  return t;
}

vec4 load_b(uint q, uint j, uint at) {
  if (B_VEC && TEXELS) return texel_b(first_texel_b + b_row[q][j] + at);
  if (B_VEC) return b_at4(base_b, b_row[q][j] + at);
  vec4 t;
  [[unroll]] for (uint r = 0; r < 4; ++r)
    t[r] = b_at(base_b, b_row[q][j] + at + (LAYOUT == NT ? r : min(b_column[j] + r, p.n - 1)));
  return t;
}

void load_step(uint at_a, uint at_b) {
  [[unroll]] for (uint i = 0; i < A_LOADS; ++i) a[i] = load_a(i, at_a);
  [[unroll]] for (uint j = 0; j < T4; ++j) {
    [[unroll]] for (uint q = 0; q < 4; ++q) {
      const vec4 t = load_b(q, j, at_b);
      if (LAYOUT == NT) {
        b[0][j][q] = t.x; b[1][j][q] = t.y; b[2][j][q] = t.z; b[3][j][q] = t.w;
      } else {
        b[q][j] = t;
      }
    }
  }
}

// The last, shorter step: products past the end are 0 * 0.
void load_tail(Rows rows, uint k, uint end) {
  const uint lane = gl_LocalInvocationID.x;
  [[unroll]] for (uint i = 0; i < A_LOADS; ++i) [[unroll]] for (uint r = 0; r < 4; ++r) {
    const uint at = LAYOUT == TN ? k + lane / 2 : k + r;
    const uint row = LAYOUT == TN ? min(rows.first + 8 * i + 4 * (lane & 1) + r, p.m - 1)
                                  : min(rows.first + 8 * i + lane, rows.end - 1);
    const uint safe = min(at, end - 1);
    const float t = a_at(p.a, LAYOUT == TN ? safe * p.row_stride_a + row : row * p.row_stride_a + safe);
    a[i][r] = at < end ? t : 0.0;
  }
  [[unroll]] for (uint q = 0; q < 4; ++q) [[unroll]] for (uint j = 0; j < T4; ++j)
    [[unroll]] for (uint r = 0; r < 4; ++r) {
      const uint column = min(b_column[j] + r, p.n - 1), safe = min(k + q, end - 1);
      const float t = b_at(base_b, LAYOUT == NT ? column * p.row_stride_b + safe : safe * p.row_stride_b + column);
      b[q][j][r] = k + q < end ? t : 0.0;
    }
}

void multiply() {
  [[unroll]] for (uint i = 0; i < TM; ++i) {
    float s[4];  // a constant lane makes the shuffle one instruction
    [[unroll]] for (uint q = 0; q < 4; ++q)
      s[q] = LAYOUT == TN ? subgroupShuffle(a[i / 8][i % 4], q * 2 + i % 8 / 4)
                          : subgroupShuffle(a[i / 8][q], i % 8);
    [[unroll]] for (uint j = 0; j < T4; ++j)
      acc[i][j] += (s[0] * b[0][j] + s[1] * b[1][j]) + (s[2] * b[2][j] + s[3] * b[3][j]);
  }
}

void flush() {
  [[unroll]] for (uint i = 0; i < TM; ++i) [[unroll]] for (uint j = 0; j < T4; ++j) {
    total[i][j] += acc[i][j];
    acc[i][j] = vec4(0);
  }
}

void add_split(bool first) {
  [[unroll]] for (uint i = 0; i < TM; ++i) [[unroll]] for (uint j = 0; j < T4; ++j) {
    splits[i][j] = first ? total[i][j] : splits[i][j] + total[i][j];
    total[i][j] = vec4(0);
  }
}

void main() {
  const Rows rows = tile_rows(gl_WorkGroupID.x, TM);
  if (rows.first >= rows.end) return;
  const uvec2 range = ALL_SPLITS ? uvec2(0, p.k) : k_range();
  base_b = GROUPED == GROUPED_ROWS ? advance(p.b, rows.group, p.group_bytes_b) : p.b;
  if (GROUPED == GROUPED_ROWS) first_texel_b = rows.group * (p.group_bytes_b / kTexelBytesB);
  place_loads(rows, gl_WorkGroupID.y * 32 * T4);
  [[unroll]] for (uint i = 0; i < TM; ++i) [[unroll]] for (uint j = 0; j < T4; ++j)
    acc[i][j] = total[i][j] = vec4(0);

  const uint step_a = (LAYOUT == TN ? 4 * p.row_stride_a : 4) / a_unit;
  const uint step_b = (LAYOUT == NT ? 4 : 4 * p.row_stride_b) / b_unit;
  uint at_a = (LAYOUT == TN ? range.x * p.row_stride_a : range.x) / a_unit;
  uint at_b = (LAYOUT == NT ? range.x : range.x * p.row_stride_b) / b_unit;
  uint split_first = range.x;
  do {
    const uint split_end = ALL_SPLITS ? min(split_first + p.chunks_per_split * kChunk, range.y) : range.y;
    for (uint k = split_first; k < split_end; k += kChunk) {
      const uint chunk_end = min(k + kChunk, split_end), steps = (chunk_end - k) / 4;
      for (uint s = 0; s < steps; ++s, at_a += step_a, at_b += step_b) {
        load_step(at_a, at_b);
        multiply();
      }
      if (K_TAIL) {
        if (k + 4 * steps < chunk_end) {
          load_tail(rows, k + 4 * steps, range.y);
          multiply();
        }
      }
      flush();
    }
    if (ALL_SPLITS) add_split(split_first == 0);
    split_first = split_end;
  } while (ALL_SPLITS && split_first < range.y);

  const uvec2 c = advance(p.c, gl_WorkGroupID.z, p.z_bytes_c);
  const uvec2 addend = advance(p.addend, gl_WorkGroupID.z, p.z_bytes_c);
  [[unroll]] for (uint j = 0; j < T4; ++j) {
    if (b_column[j] < p.n) {
      const vec4 bias = bias4(b_column[j]);
      [[unroll]] for (uint i = 0; i < TM; ++i)
        if (rows.first + i < rows.end) store4(c, addend, rows.first + i, b_column[j], scaled(ALL_SPLITS ? splits[i][j] : total[i][j]), bias);
    }
  }
}
