#version 460
// dgate = dy up s (1 + gate (1 - s)), dup = dy gate s, s = sigmoid(gate).
// One invocation per 4 elements (the last one fewer); it reads them all before it writes, so the
// outputs may be any of the inputs.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/elementwise/swiglu_grad.params.h"

layout(local_size_x = 64) in;
PUSH(SwigluGradParams);

// x: dgate, y: dup
vec2 gradients(float dy, float gate, float up) {
  const float s = m_sigmoid(gate);
  precise float slope = s * (1.0 + gate * (1.0 - s));
  precise float dgate = dy * up * slope;
  precise float dup = dy * (gate * s);
  return vec2(dgate, dup);
}

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    const vec4 dy = F32x4(p.dy).v[i];
    const vec4 gate = F32x4(p.gate).v[i];
    const vec4 up = F32x4(p.up).v[i];
    vec4 dgate, dup;
    [[unroll]] for (uint k = 0; k < 4; ++k) {
      const vec2 d = gradients(dy[k], gate[k], up[k]);
      dgate[k] = d.x;
      dup[k] = d.y;
    }
    F32x4(p.dgate).v[i] = dgate;
    F32x4(p.dup).v[i] = dup;
  } else {
    for (uint j = 4 * i; j < p.count; ++j) {
      const vec2 d = gradients(F32(p.dy).v[j], F32(p.gate).v[j], F32(p.up).v[j]);
      F32(p.dgate).v[j] = d.x;
      F32(p.dup).v[j] = d.y;
    }
  }
}
