#version 460
// y[n] = sum over the token's k rows r, ascending, of weights[order[r]] * x[r]
#extension GL_GOOGLE_include_directive : require
#include "ops/moe/moe_rows.glsl"

void main() {
  if (!is_inside()) return;
  precise vec4 sum = vec4(0);
  for (uint i = 0; i < p.k; ++i) {
    const uint row = row_of_token(row_of(), i);
    precise vec4 term = x_at(row) * F32(p.weights).v[slot_of(row)];
    sum = sum + term;
  }
  set_y(sum);
}
