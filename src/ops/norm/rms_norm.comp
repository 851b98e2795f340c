#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// y = weight * (x * rstd), rstd = 1 / sqrt(mean(x^2) + eps); saves rstd.
// kRowLanes invocations own a row; lane l takes columns 4l..4l+3, then 4 kRowLanes further on. Four
// squares are added as (a + b) + (c + d), then see reduce.glsl.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/norm/rms_norm.params.h"

PUSH(RmsNormParams);

void main() {
  const uint row = row_index();
  const uint end = row < p.rows ? p.width : 0;
  const uint first = 4 * row_lane();
  const uint step = 4 * kRowLanes;

  Sum squares = Sum(0.0, 0.0);
  for (uint column = first; column < end; column += step) {
    const vec4 x = load4(p.x, row, column, p.width);
    precise vec4 s = x * x;
    precise float four = (s.x + s.y) + (s.z + s.w);
    squares = sum_add(squares, four);
  }
  precise float mean = m_div(row_sum(squares), float(p.width)) + p.eps;
  const float rstd = m_rsqrt(mean);
  if (end > 0 && row_lane() == 0) F32(p.rstd).v[row] = rstd;

  for (uint column = first; column < end; column += step) {
    precise vec4 normed = load4(p.x, row, column, p.width) * rstd;
    precise vec4 y = load4(p.weight, 0, column, p.width) * normed;
    store4(p.y, row, column, p.width, y);
  }
}
