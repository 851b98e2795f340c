#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// new_sum = sum + the sum of losses[i], where sums are (value, rounding error). One workgroup; an
// invocation owns every 8th (cpu) or 256th (gpu) group of four losses, ascending, then a tree.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/loss/loss_sum.params.h"

PUSH(LossSumParams);

void main() {
  Sum mine = Sum(0.0, 0.0);
  for (uint i = 4 * row_lane(); i < p.count; i += 4 * kRowLanes) {
    [[unroll]] for (uint j = 0; j < 4; ++j)
      if (i + j < p.count) mine = sum_add(mine, F32(p.losses).v[i + j]);
  }
  const float losses = row_sum(mine);
  if (row_lane() != 0) return;
  const Sum total = sum_add(Sum(F32(p.sum).v[0], F32(p.sum).v[1]), losses);
  F32(p.new_sum).v[0] = total.value;
  F32(p.new_sum).v[1] = total.error;
}
