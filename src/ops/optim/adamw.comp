#version 460
// One AdamW step, with torch's order of roundings (torch/optim/adam.py, _single_tensor_adam):
//   g = clip_coef * grad;  p *= 1 - lr*wd;  m += (1-b1) * (g - m);  v = b2*v + ((1-b2)*g)*g
//   p += (-(lr/bc1) * m) / (sqrt(v)/sqrt(bc2) + eps)
// clip_coef == 0 says that the gradients are not finite: nothing changes. In place.
// One invocation per 4 elements (the last one fewer).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/optim/adamw.params.h"
#include "ops/optim/step_params.glsl"

layout(local_size_x = 64) in;
PUSH(AdamWParams);

float lerp_as_torch(float start, float end, float weight) {
  precise float change = end - start;
  precise float small = weight * change;
  precise float from_start = start + small;
  precise float large = change * (1.0 - weight);
  precise float from_end = end - large;
  return weight < 0.5 ? from_start : from_end;
}

void update(float gradient, inout float param, inout float m, inout float v, float clip) {
  F32 step = F32(p.step);
  precise float g = gradient * clip;
  precise float x = param * (p.decay != 0 ? step.v[kDecay] : 1.0);
  m = lerp_as_torch(m, g, step.v[kOneMinusBeta1]);
  precise float scaled = step.v[kOneMinusBeta2] * g;
  precise float square = scaled * g;
  precise float kept = v * step.v[kBeta2];
  precise float second = kept + square;
  v = second;
  precise float denominator = m_div(m_sqrt(second), step.v[kBias2Sqrt]) + step.v[kEps];
  precise float numerator = -step.v[kStepSize] * m;
  precise float moved = x + m_div(numerator, denominator);
  param = moved;
}

void update_one(uint i, float clip) {
  float param = F32(p.param).v[i], m = F32(p.m).v[i], v = F32(p.v).v[i];
  if (clip != 0.0) update(F32(p.grad).v[i], param, m, v, clip);
  F32(p.new_m).v[i] = m;
  F32(p.new_v).v[i] = v;
  F32(p.new_param).v[i] = param;
}

void update_four(uint i, float clip) {
  const vec4 grad = F32x4(p.grad).v[i];
  vec4 param = F32x4(p.param).v[i], m = F32x4(p.m).v[i], v = F32x4(p.v).v[i];
  if (clip != 0.0) {
    [[unroll]] for (uint j = 0; j < 4; ++j) update(grad[j], param[j], m[j], v[j], clip);
  }
  F32x4(p.new_m).v[i] = m;
  F32x4(p.new_v).v[i] = v;
  F32x4(p.new_param).v[i] = param;
}

void main() {
  const uint i = flat_index();
  const float clip = F32(p.clip_coef).v[0];
  if (4 * i + 4 <= p.count) {
    update_four(i, clip);
  } else {
    for (uint j = 4 * i; j < p.count; ++j) update_one(j, clip);
  }
}
