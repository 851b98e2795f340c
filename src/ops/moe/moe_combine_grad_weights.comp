#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// dweights[order[r]] = dot(ys[r], dy[order[r] / k]). kRowLanes invocations per row r; a lane adds
// every kRowLanes-th vec4, then the tree of reduce.glsl.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/moe/moe_gather.params.h"

PUSH(MoeWeightGradParams);

void main() {
  const uint row = row_index();
  const bool inside = row < p.count;
  const uint slot = inside ? uint(I32(p.order).v[row]) : 0;
  Sum mine = Sum(0.0, 0.0);
  if (inside)
    for (uint column = 4 * row_lane(); column < p.width; column += 4 * kRowLanes) {
      const vec4 product =
          load4(p.ys, row, column, p.width) * load4(p.dy, slot / p.k, column, p.width);
      mine = sum_add(mine, (product.x + product.y) + (product.z + product.w));
    }
  const float total = row_sum(mine);
  if (inside && row_lane() == 0) F32(p.dweights).v[slot] = total;
}
