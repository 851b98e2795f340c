#version 460
// Gives each slot its row: after all rows of lower experts, then of earlier slots of its expert.
// rows[n] lists token n's rows by ascending expert. One invocation per (block of 256 slots,
// expert); those of block 0 also write offsets.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/moe/moe_sort.params.h"

layout(local_size_x = 64) in;
PUSH(MoeSortParams);

const uint kBlock = 256;

// How many choices of the slot's token come before it, by (expert, slot).
uint rank_in_token(uint slot, int expert) {
  const uint first = slot / p.k * p.k;
  uint rank = 0;
  for (uint other = first; other < first + p.k; ++other) {
    const int chosen = I32(p.experts).v[other];
    if (chosen < expert || (chosen == expert && other < slot)) ++rank;
  }
  return rank;
}

void main() {
  const uint i = flat_index();
  if (i >= p.blocks * p.expert_count) return;
  const uint expert = i % p.expert_count, totals = p.blocks * p.expert_count;
  int start = 0;
  for (uint e = 0; e < expert; ++e) start += I32(p.counts).v[totals + e];
  const uint first = i / p.expert_count * kBlock, end = min(first + kBlock, p.slots);
  if (first == 0) {
    I32(p.offsets).v[expert] = start;
    if (expert + 1 == p.expert_count)
      I32(p.offsets).v[p.expert_count] = start + I32(p.counts).v[totals + expert];
  }
  int row = start + I32(p.counts).v[i];
  for (uint slot = first; slot < end; ++slot) {
    if (I32(p.experts).v[slot] != int(expert)) continue;
    I32(p.order).v[row] = int(slot);
    I32(p.rows).v[slot / p.k * p.k + rank_in_token(slot, int(expert))] = row;
    ++row;
  }
}
