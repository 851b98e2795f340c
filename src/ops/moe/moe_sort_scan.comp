#version 460
// Turns counts[b][e] into the count of expert e in the blocks before b, and adds the row of totals.
// One invocation per expert.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/moe/moe_sort.params.h"

layout(local_size_x = 64) in;
PUSH(MoeSortParams);

void main() {
  const uint expert = flat_index();
  if (expert >= p.expert_count) return;
  int before = 0;
  for (uint b = 0; b < p.blocks; ++b) {
    const uint at = b * p.expert_count + expert;
    const int count = I32(p.counts).v[at];
    I32(p.counts).v[at] = before;
    before += count;
  }
  I32(p.counts).v[p.blocks * p.expert_count + expert] = before;
}
