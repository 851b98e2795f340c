#version 460
// y[i] = partials[0][i] + partials[1][i] + ... : the heads of each group, in order.
// One invocation per element; bound by memory.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/attention/attention_sum_heads.params.h"

layout(local_size_x = 64) in;
PUSH(AttentionSumHeadsParams);

void main() {
  const uint i = flat_index();
  if (i >= p.count) return;
  float sum = F32(p.partials).v[i];
  for (uint head = 1; head < p.heads; ++head) sum += F32(p.partials).v[head * p.count + i];
  F32(p.y).v[i] = sum;
}
