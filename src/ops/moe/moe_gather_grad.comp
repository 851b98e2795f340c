#version 460
// y[n] = sum over the token's k rows r, ascending, of x[r]
#extension GL_GOOGLE_include_directive : require
#include "ops/moe/moe_rows.glsl"

void main() {
  if (!is_inside()) return;
  vec4 sum = vec4(0);
  for (uint i = 0; i < p.k; ++i) sum += x_at(row_of_token(row_of(), i));
  set_y(sum);
}
