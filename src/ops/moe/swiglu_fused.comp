#version 460
// y[r,i] = silu(gate_up[r,i]) * gate_up[r,width+i]. One invocation per (row, 4 columns).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/moe/halves.glsl"
#include "ops/moe/swiglu_fused.params.h"

layout(local_size_x = 64) in;
PUSH(SwigluFusedParams);

void main() {
  const uint columns = (p.width + 3) / 4, row = flat_index() / columns;
  const uint column = 4 * (flat_index() % columns);
  if (row >= p.rows) return;
  const vec4 gate = load_half(p.gate_up, row, 0, column, p.width);
  const vec4 up = load_half(p.gate_up, row, 1, column, p.width);
  vec4 y;
  [[unroll]] for (uint i = 0; i < 4; ++i) y[i] = m_silu(gate[i]) * up[i];
  store4(p.y, row, column, p.width, y);
}
