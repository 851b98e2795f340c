#version 460
//! variant all
//! variant chosen -DCHOSEN_ONLY=1
// With p = the router's softmax, w = p of the chosen experts, d = sum over the chosen of w dw:
//   dlogits[e] = w (dw - d) for a chosen expert; for the others -p d (all) or 0 (chosen).
// One invocation per row; sums ascend over the slots.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/moe/moe_route.params.h"
#include "ops/moe/softmax_sum.glsl"

layout(local_size_x = 64) in;
PUSH(MoeRouteGradParams);

void main() {
  const uint row = flat_index();
  if (row >= p.rows) return;
  const uint first = row * p.expert_count, slots = row * p.k;
  float mean = 0.0;
  for (uint slot = 0; slot < p.k; ++slot)
    mean += F32(p.weights).v[slots + slot] * F32(p.dweights).v[slots + slot];
#ifdef CHOSEN_ONLY
  for (uint e = 0; e < p.expert_count; ++e) F32(p.dlogits).v[first + e] = 0.0;
#else
  const float highest = F32(p.logits).v[first + uint(I32(p.experts).v[slots])];
  const float sum = softmax_sum(p.logits, first, p.expert_count, highest);
  for (uint e = 0; e < p.expert_count; ++e) {
    const float probability = m_div(m_exp(F32(p.logits).v[first + e] - highest), sum);
    F32(p.dlogits).v[first + e] = -probability * mean;
  }
#endif
  for (uint slot = 0; slot < p.k; ++slot) {
    const uint expert = uint(I32(p.experts).v[slots + slot]);
    const float centred = F32(p.dweights).v[slots + slot] - mean;
    F32(p.dlogits).v[first + expert] = F32(p.weights).v[slots + slot] * centred;
  }
}
