#version 460
// With s = sigmoid(g):  dg = dy u s (1 + g (1 - s)),  du = dy g s. dgate_up may be gate_up: each
// element is read and written by the same invocation. One invocation per (row, 4 columns).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/moe/halves.glsl"
#include "ops/moe/swiglu_fused.params.h"

layout(local_size_x = 64) in;
PUSH(SwigluFusedGradParams);

void main() {
  const uint columns = (p.width + 3) / 4, row = flat_index() / columns;
  const uint column = 4 * (flat_index() % columns);
  if (row >= p.rows) return;
  const vec4 gate = load_half(p.gate_up, row, 0, column, p.width);
  const vec4 up = load_half(p.gate_up, row, 1, column, p.width);
  const vec4 dy = load4(p.dy, row, column, p.width);
  vec4 dgate, dup;
  [[unroll]] for (uint i = 0; i < 4; ++i) {
    const float s = m_sigmoid(gate[i]), below = m_sigmoid(-gate[i]);
    dgate[i] = dy[i] * up[i] * (s * (1.0 + gate[i] * below));
    dup[i] = dy[i] * (gate[i] * s);
  }
  store_half(p.dgate_up, row, 0, column, p.width, dgate);
  store_half(p.dgate_up, row, 1, column, p.width, dup);
}
