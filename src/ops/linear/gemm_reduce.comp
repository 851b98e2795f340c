#version 460
// c[i,j] = scale * (partial[0,i,j] + partial[1,i,j] + ...) + bias[j] + addend[i,j]: the end of a GEMM whose K
// was split. One invocation per four neighbours of a row, or per element; splits are added in order.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/linear/gemm_reduce.params.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const bool VEC = true;  // n, the row stride and all addresses allow vec4s
PUSH(GemmReduceParams);

vec4 partial_at(uint i, uint split, uint count) {
  if (VEC) return F32x4(p.partial).v[split * count + i];
  return vec4(F32(p.partial).v[split * count + i]);
}

// Four loads at a time are on their way.
vec4 sum_of_splits(uint i, uint count) {
  vec4 sum = partial_at(i, 0, count);
  uint s = 1;
  for (; s + 4 <= p.splits; s += 4) {
    vec4 next[4];
    [[unroll]] for (uint r = 0; r < 4; ++r) next[r] = partial_at(i, s + r, count);
    [[unroll]] for (uint r = 0; r < 4; ++r) sum += next[r];
  }
  for (; s < p.splits; ++s) sum += partial_at(i, s, count);
  return sum;
}

void main() {
  const uint width = VEC ? p.n / 4 : p.n, count = p.m * width, i = flat_index();
  if (i >= count) return;
  const uint row = i / width, column = i % width;
  const uint at = row * (VEC ? p.row_stride_c / 4 : p.row_stride_c) + column;
  precise vec4 y = p.scale * sum_of_splits(i, count);
  if (VEC) {
    if (p.has_bias != 0) y += F32x4(p.bias).v[column];
    if (p.has_addend != 0) y += F32x4(p.addend).v[at];
    F32x4(p.c).v[at] = y;
  } else {
    if (p.has_bias != 0) y += F32(p.bias).v[column];
    if (p.has_addend != 0) y += F32(p.addend).v[at];
    F32(p.c).v[at] = y.x;
  }
}
