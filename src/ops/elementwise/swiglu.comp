#version 460
// y = silu(gate) * up. One invocation per 4 elements (the last one fewer); y may be gate or up.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/elementwise/swiglu.params.h"

layout(local_size_x = 64) in;
PUSH(SwigluParams);

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    const vec4 gate = F32x4(p.gate).v[i];
    const vec4 silu = vec4(m_silu(gate.x), m_silu(gate.y), m_silu(gate.z), m_silu(gate.w));
    F32x4(p.y).v[i] = silu * F32x4(p.up).v[i];
  } else {
    for (uint j = 4 * i; j < p.count; ++j)
      F32(p.y).v[j] = m_silu(F32(p.gate).v[j]) * F32(p.up).v[j];
  }
}
