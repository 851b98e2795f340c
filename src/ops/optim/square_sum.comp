#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// partials[first + c] = sum of x[i]^2 over chunk c of 4096 elements. One workgroup per chunk; an
// invocation owns every 8th (cpu) or 256th (gpu) vec4 in four running sums, added as a tree, and so
// are the invocations' sums.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/optim/clip.params.h"

PUSH(SquareSumParams);

const uint kChunkVectors = 1024;

vec4 load_or_zero(uint i) {
  if (4 * i + 4 <= p.count) return F32x4(p.x).v[i];
  vec4 x = vec4(0);
  [[unroll]] for (uint j = 0; j < 4; ++j)
    if (4 * i + j < p.count) x[j] = F32(p.x).v[4 * i + j];
  return x;
}

void main() {
  const uint chunk = row_index();
  if (chunk * (4 * kChunkVectors) >= p.count) return;
  vec4 sums[4] = vec4[](vec4(0), vec4(0), vec4(0), vec4(0));
  for (uint i = 0; i < kChunkVectors; i += 4 * kRowLanes) {
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      const vec4 x = load_or_zero(chunk * kChunkVectors + i + j * kRowLanes + row_lane());
      sums[j] += x * x;
    }
  }
  const vec4 sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  const float total = row_sum((sum.x + sum.y) + (sum.z + sum.w));
  if (row_lane() == 0) F32(p.partials).v[p.first_partial + chunk] = total;
}
