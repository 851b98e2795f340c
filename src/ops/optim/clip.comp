#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// norm = sqrt(sum of the partial sums); coef = min(1, max_norm / (norm + 1e-6)), 1 when
// max_norm <= 0 and 0 when the norm is not finite. One workgroup; an invocation owns every 8th (cpu)
// or 256th (gpu) group of four partial sums; rounding errors are kept (reduce.glsl).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/optim/clip.params.h"
#include "ops/optim/step_params.glsl"

PUSH(ClipParams);

float clip_coefficient(float norm, float max_norm) {
  if ((floatBitsToUint(norm) & 0x7f800000u) == 0x7f800000u) return 0.0;
  if (max_norm <= 0.0) return 1.0;
  return min(1.0, m_div(max_norm, norm + 1e-6));
}

void main() {
  Sum sum = Sum(0.0, 0.0);
  for (uint i = 4 * row_lane(); i < p.count; i += 4 * kRowLanes) {
    [[unroll]] for (uint j = 0; j < 4; ++j)
      if (i + j < p.count) sum = sum_add(sum, F32(p.partials).v[i + j]);
  }
  const float total = row_sum(sum);
  if (row_lane() != 0) return;
  const float norm = m_sqrt(total);
  F32(p.norm).v[0] = norm;
  F32(p.coef).v[0] = clip_coefficient(norm, F32(p.step).v[kMaxNorm]);
}
