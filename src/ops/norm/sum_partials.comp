#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// y[h] = sum over rows of partial[row][h], + addend[h]; y may be the addend. A workgroup owns a
// block of columns; order as in columns.glsl, the addend last.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/columns.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/norm/sum_partials.params.h"

layout(constant_id = 2) const bool kHasAddend = false;
PUSH(SumPartialsParams);

void main() {
  const uint column = column_of(flat_group());
  const uint end = column < p.width ? p.rows : 0;

  Sum4 sum = Sum4(vec4(0), vec4(0));
  for (uint row = first_row(); row < end; row += kRowSteps)
    sum = sum_add(sum, load4(p.partial, row, column, p.width));
  vec4 total = column_sum(sum);
  if (first_row() == 0 && column < p.width) {
    if (kHasAddend) total = total + load4(p.addend, 0, column, p.width);
    store4(p.y, 0, column, p.width, total);
  }
}
