#version 460
// z[i] = x[i] + y[i]; z may be x or y. One invocation per 4 elements (the last one fewer).
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/elementwise/add.params.h"

layout(local_size_x = 64) in;
PUSH(AddParams);

void main() {
  const uint i = flat_index();
  if (4 * i + 4 <= p.count) {
    F32x4(p.z).v[i] = F32x4(p.x).v[i] + F32x4(p.y).v[i];
  } else {
    for (uint j = 4 * i; j < p.count; ++j) F32(p.z).v[j] = F32(p.x).v[j] + F32(p.y).v[j];
  }
}
