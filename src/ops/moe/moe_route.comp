#version 460
//! variant all
//! variant chosen -DCHOSEN_ONLY=1
// experts = the k largest logits of a row, equal ones by ascending expert;
// weights = exp(x - max) / s, where s sums over all experts (all) or over the chosen ones (chosen).
// One invocation per row: it looks k times for the largest logit after the one found last.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/moe/moe_route.params.h"
#include "ops/moe/softmax_sum.glsl"

layout(local_size_x = 64) in;
PUSH(MoeRouteParams);

// Where nothing compares (logits that are nan) the choice is 0, 1, ...: always a valid expert.
uint next_expert(uint first, uint slot, float last, int last_expert) {
  int best = -1;
  float best_logit = 0.0;
  for (int e = 0; e < int(p.expert_count); ++e) {
    const float x = F32(p.logits).v[first + e];
    const bool left = last_expert < 0 || x < last || (x == last && e > last_expert);
    if (left && (best < 0 ? x == x : x > best_logit)) {
      best = e;
      best_logit = x;
    }
  }
  return best < 0 ? slot : uint(best);
}

void main() {
  const uint row = flat_index();
  if (row >= p.rows) return;
  const uint first = row * p.expert_count, slots = row * p.k;
  float highest = 0.0, last = 0.0, chosen = 0.0;
  int last_expert = -1;
  for (uint slot = 0; slot < p.k; ++slot) {
    const uint expert = next_expert(first, slot, last, last_expert);
    last_expert = int(expert);
    last = F32(p.logits).v[first + expert];
    if (slot == 0) highest = last;
    const float weight = m_exp(last - highest);
    chosen += weight;
    I32(p.experts).v[slots + slot] = last_expert;
    F32(p.weights).v[slots + slot] = weight;
  }
#ifdef CHOSEN_ONLY
  const float sum = chosen;
#else
  const float sum = softmax_sum(p.logits, first, p.expert_count, highest);
#endif
  for (uint slot = 0; slot < p.k; ++slot)
    F32(p.weights).v[slots + slot] = m_div(F32(p.weights).v[slots + slot], sum);
}
