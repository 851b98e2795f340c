#version 460
// y[i] = x[i], for one part, y being its place in the whole. One invocation per 4 elements (the
// last one fewer).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/loss/concat_rows.params.h"

layout(local_size_x = 64) in;
PUSH(ConcatRowsParams);

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    F32x4(p.y).v[i] = F32x4(p.x).v[i];
  } else {
    for (uint j = 4 * i; j < p.count; ++j) F32(p.y).v[j] = F32(p.x).v[j];
  }
}
