#version 460
// y[r] = x[order[r] / k]
#extension GL_GOOGLE_include_directive : require
#include "ops/moe/moe_rows.glsl"

void main() {
  if (is_inside()) set_y(x_at(slot_of(row_of()) / p.k));
}
