#version 460
// y[i] = value. One invocation per element.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/elementwise/fill.params.h"

layout(local_size_x = 64) in;
PUSH(FillParams);

void main() {
  const uint i = flat_index();
  if (i < p.count) F32(p.y).v[i] = p.value;
}
