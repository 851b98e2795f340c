#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// dx = rstd * (g - x^ * mean(g x^)) + addend, g = dy weight, x^ = x rstd.
// Lanes and sums as in rms_norm.comp. A lane reads its elements of dy and addend before it writes
// the same elements of dx, so dx may be either.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/norm/rms_norm_grad_input.params.h"

layout(constant_id = 2) const bool kHasAddend = false;
PUSH(RmsNormGradInputParams);

void main() {
  const uint row = row_index();
  const uint end = row < p.rows ? p.width : 0;
  const uint first = 4 * row_lane();
  const uint step = 4 * kRowLanes;
  const float rstd = end > 0 ? F32(p.rstd).v[row] : 0.0;

  Sum products = Sum(0.0, 0.0);
  for (uint column = first; column < end; column += step) {
    const vec4 x = load4(p.x, row, column, p.width);
    precise vec4 g = load4(p.dy, row, column, p.width) * load4(p.weight, 0, column, p.width);
    precise vec4 s = g * (x * rstd);
    precise float four = (s.x + s.y) + (s.z + s.w);
    products = sum_add(products, four);
  }
  const float mean = m_div(row_sum(products), float(p.width));

  for (uint column = first; column < end; column += step) {
    const vec4 x = load4(p.x, row, column, p.width);
    precise vec4 g = load4(p.dy, row, column, p.width) * load4(p.weight, 0, column, p.width);
    precise vec4 dx = rstd * (g - (x * rstd) * mean);
    if (kHasAddend) dx = dx + load4(p.addend, row, column, p.width);
    store4(p.dx, row, column, p.width, dx);
  }
}
