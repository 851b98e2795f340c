#version 460
// y[i] = value. One invocation per 4 elements (the last one fewer).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/elementwise/fill.params.h"

layout(local_size_x = 64) in;
PUSH(FillParams);

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    F32x4(p.y).v[i] = vec4(p.value);
  } else {
    for (uint j = 4 * i; j < p.count; ++j) F32(p.y).v[j] = p.value;
  }
}
