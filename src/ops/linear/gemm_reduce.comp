#version 460
// c[i,j] = scale * (partial[0,i,j] + partial[1,i,j] + ...) + bias[j] + addend[i,j]: the end of a GEMM whose K
// was split. One invocation per element; splits are added in order.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/linear/gemm_reduce.params.h"

layout(local_size_x = 64) in;
PUSH(GemmReduceParams);

void main() {
  const uint i = flat_index(), count = p.m * p.n;
  if (i >= count) return;
  const uint row = i / p.n, column = i % p.n;
  float sum = F32(p.partial).v[i];
  for (uint s = 1; s < p.splits; ++s) sum += F32(p.partial).v[s * count + i];
  precise float y = p.scale * sum;
  const uint at = row * p.row_stride_c + column;
  if (p.has_bias != 0) y += F32(p.bias).v[column];
  if (p.has_addend != 0) y += F32(p.addend).v[at];
  F32(p.c).v[at] = y;
}
