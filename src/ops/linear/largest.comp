#version 460
// The largest magnitude in each row and each column of x, from which the split GEMM takes its scales
// (gemm_split.comp); both are zeroed before. A workgroup takes 256 columns of `rows_of_group` rows, a lane 4 columns of
// each fourth row. Maxima have no order, so they may be atomic: magnitudes compare as their bits do.
//! requires GL_KHR_cooperative_matrix
//! variant f32 -O
//! variant f16 -O -DX_F16=1
//! variant bf16 -O -DX_BF16=1
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "ops/glsl/common.glsl"
#include "ops/linear/largest.params.h"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool VEC = true;  // columns and address allow four at a time
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer U32x2 { uvec2 v[]; };
PUSH(LargestParams);

const uint kRows = 32, kLaneColumns = 64;  // 4 columns each
shared uint largest_of_row[kRows];
shared uvec4 largest_of_column[256];

#if defined(X_BF16)
vec2 widen(uint w) { return vec2(uintBitsToFloat(w << 16), uintBitsToFloat(w & 0xffff0000u)); }
#elif defined(X_F16)
vec2 widen(uint w) { return unpackHalf2x16(w); }
#endif
#if defined(X_BF16) || defined(X_F16)
vec4 load4(uint i) {
  const uvec2 w = U32x2(p.x).v[i];
  return vec4(widen(w.x), widen(w.y));
}
float load(uint i) {
  const vec2 pair = widen(U32(p.x).v[i >> 1]);
  return (i & 1u) != 0 ? pair.y : pair.x;
}
#else
vec4 load4(uint i) { return F32x4(p.x).v[i]; }
float load(uint i) { return F32(p.x).v[i]; }
#endif

uvec4 magnitudes(uint row, uint column) {
  if (row >= p.rows || column >= p.columns) return uvec4(0);
  const uint at = row * p.columns + column;
  if (VEC) return floatBitsToUint(abs(load4(at / 4)));
  vec4 x = vec4(0);
  [[unroll]] for (uint r = 0; r < 4; ++r) if (column + r < p.columns) x[r] = load(at + r);
  return floatBitsToUint(abs(x));
}

// Most have been passed before: a load is cheaper than an atomic that changes nothing.
void raise(uvec2 to, uint i, uint x) {
  if (U32(to).v[i] < x) atomicMax(U32(to).v[i], x);
}

uvec4 largest_of_32_rows(uint first_row, uint column) {
  const uint lane = gl_LocalInvocationID.x, first = lane / kLaneColumns;
  uvec4 of_columns = uvec4(0), x[kRows / 4];
  [[unroll]] for (uint i = 0; i < kRows / 4; ++i) x[i] = magnitudes(first_row + 4 * i + first, column);
  if (lane < kRows) largest_of_row[lane] = 0;
  barrier();
  [[unroll]] for (uint i = 0; i < kRows / 4; ++i) {
    of_columns = max(of_columns, x[i]);
    const uvec2 pair = max(x[i].xy, x[i].zw);
    const uint of_row = subgroupMax(max(pair.x, pair.y));  // its lanes share a row up to a size of 64
    if (subgroupElect()) atomicMax(largest_of_row[4 * i + first], of_row);
  }
  barrier();
  if (lane < kRows && first_row + lane < p.rows) raise(p.of_rows, first_row + lane, largest_of_row[lane]);
  return of_columns;
}

void main() {
  const uint lane = gl_LocalInvocationID.x;
  const uint column = (gl_WorkGroupID.x * kLaneColumns + lane % kLaneColumns) * 4;
  const uint first_row = gl_WorkGroupID.y * p.rows_of_group;
  uvec4 of_columns = uvec4(0);
  for (uint row = 0; row < p.rows_of_group; row += kRows) of_columns = max(of_columns, largest_of_32_rows(first_row + row, column));
  largest_of_column[lane] = of_columns;
  barrier();
  if (lane >= kLaneColumns) return;
  [[unroll]] for (uint i = 1; i < 4; ++i) of_columns = max(of_columns, largest_of_column[lane + i * kLaneColumns]);
  [[unroll]] for (uint r = 0; r < 4; ++r)
    if (column + r < p.columns) raise(p.of_columns, column + r, of_columns[r]);
}
