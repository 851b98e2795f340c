#version 460
// counts[b][e] = slots of block b (256 slots) that chose expert e. One invocation per (b, e).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/moe/moe_sort.params.h"

layout(local_size_x = 64) in;
PUSH(MoeSortParams);

const uint kBlock = 256;

void main() {
  const uint i = flat_index();
  if (i >= p.blocks * p.expert_count) return;
  const int expert = int(i % p.expert_count);
  const uint first = i / p.expert_count * kBlock, end = min(first + kBlock, p.slots);
  int count = 0;
  for (uint slot = first; slot < end; ++slot)
    if (I32(p.experts).v[slot] == expert) ++count;
  I32(p.counts).v[i] = count;
}
