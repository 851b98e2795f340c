#version 460
// y[b,n] = sum of x[m,n] over the block_rows rows of block b = workgroup y, + addend[n] (single block).
// One invocation per column. Order: runs of 32 rows in order, the runs' sums in order.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/linear/column_sum.params.h"

layout(local_size_x = 64) in;
PUSH(ColumnSumParams);

void main() {
  const uint column = gl_GlobalInvocationID.x;
  if (column >= p.n) return;
  const uint first = gl_WorkGroupID.y * p.block_rows, end = min(first + p.block_rows, p.m);
  float total = 0;
  for (uint run = first; run < end; run += 32) {
    const uint run_end = min(run + 32, end);
    float sum = 0;
    for (uint row = run; row < run_end; ++row) sum += F32(p.x).v[row * p.n + column];
    total += sum;
  }
  if (p.has_addend != 0) total += F32(p.addend).v[column];
  F32(p.y).v[gl_WorkGroupID.y * p.n + column] = total;
}
