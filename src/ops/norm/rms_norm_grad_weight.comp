#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
// partial[c][h] = sum over rows c chunk .. (c + 1) chunk - 1 of dy x rstd; sum_partials.comp adds
// the chunks. A workgroup owns one chunk and a block of columns; order as in columns.glsl.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/columns.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/norm/rms_norm_grad_weight.params.h"

PUSH(RmsNormGradWeightParams);

void main() {
  const uint chunk = flat_group() / p.blocks;
  const uint column = column_of(flat_group() % p.blocks);
  const uint begin = chunk * p.chunk;
  const uint end = column < p.width ? min(begin + p.chunk, p.rows) : 0;

  Sum4 sum = Sum4(vec4(0), vec4(0));
  for (uint row = begin + first_row(); row < end; row += kRowSteps) {
    precise vec4 normed = load4(p.x, row, column, p.width) * F32(p.rstd).v[row];
    precise vec4 term = load4(p.dy, row, column, p.width) * normed;
    sum = sum_add(sum, term);
  }
  const vec4 total = column_sum(sum);
  if (first_row() == 0 && begin < end) store4(p.partial, chunk, column, p.width, total);
}
