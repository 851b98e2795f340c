#version 460
// y = factor * x. One invocation per 4 elements (the last one fewer); y may be x.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/elementwise/scale.params.h"

layout(local_size_x = 64) in;
PUSH(ScaleParams);

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    F32x4(p.y).v[i] = p.factor * F32x4(p.x).v[i];
  } else {
    for (uint j = 4 * i; j < p.count; ++j) F32(p.y).v[j] = p.factor * F32(p.x).v[j];
  }
}
