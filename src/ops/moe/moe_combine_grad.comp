#version 460
// y[r] = weights[order[r]] * x[order[r] / k]
#extension GL_GOOGLE_include_directive : require
#include "ops/moe/moe_rows.glsl"

void main() {
  if (!is_inside()) return;
  const uint slot = slot_of(row_of());
  set_y(x_at(slot / p.k) * F32(p.weights).v[slot]);
}
