#version 460
// The largest magnitude in each row of x; see largest.comp, which finds those of columns too. Lanes as in reduce.glsl.
//! requires GL_KHR_cooperative_matrix
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/linear/largest_rows.params.h"

PUSH(LargestRowsParams);

void main() {
  const uint row = row_index();
  vec4 largest = vec4(0);
  if (row < p.rows) {
    for (uint column = 4 * row_lane(); column < p.width; column += 4 * kRowLanes)
      largest = max(largest, abs(load4(p.x, row, column, p.width)));
  }
  const float of_row = row_max(max(max(largest.x, largest.y), max(largest.z, largest.w)));
  if (row < p.rows && row_lane() == 0) F32(p.of_rows).v[row] = of_row;
}
