#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// sum[id] += dy[order[first]] + ... + dy[order[end - 1]] for the run (id, first, end). A workgroup
// owns one run and a block of columns, so no two touch the same element; order as in columns.glsl,
// what was in `sum` last.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/columns.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/embed/embedding_grad.params.h"

PUSH(EmbeddingGradParams);

void main() {
  const uint run = flat_group() / p.blocks;
  if (run >= p.run_count) return;
  const int id = I32(p.runs).v[3 * run];
  if (id < 0 || id == p.padding_idx) return;

  const uint column = column_of(flat_group() % p.blocks);
  const uint first = U32(p.runs).v[3 * run + 1];
  const uint end = column < p.width ? U32(p.runs).v[3 * run + 2] : 0;
  Sum4 sum = Sum4(vec4(0), vec4(0));
  for (uint i = first + first_row(); i < end; i += kRowSteps)
    sum = sum_add(sum, load4(p.dy, U32(p.order).v[i], column, p.width));
  const vec4 total = column_sum(sum);
  if (first_row() == 0 && column < p.width) {
    const vec4 before = load4(p.sum, uint(id), column, p.width);
    store4(p.sum, uint(id), column, p.width, before + total);
  }
}
