#version 460
// z[i] = f(x[i]), or x[i] / y[i]: measures math.glsl on a device (tests, doctor's kernel check).
// One invocation per element.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/glsl/math_probe.params.h"

layout(local_size_x = 64) in;
layout(constant_id = 0) const uint kFunction = 0;  // MathFunction
PUSH(MathProbeParams);

float evaluate(float x, float y) {
  switch (kFunction) {
    case 0: return m_exp(x);
    case 1: return m_log(x);
    case 2: return m_tanh(x);
    case 3: return m_sigmoid(x);
    case 4: return m_silu(x);
    case 5: return m_rsqrt(x);
    case 6: return m_sqrt(x);
    case 7: return m_div(x, y);
    case 8: return m_sin(x);
    default: return m_cos(x);
  }
}

void main() {
  const uint i = flat_index();
  if (i < p.count) F32(p.z).v[i] = evaluate(F32(p.x).v[i], F32(p.y).v[i]);
}
