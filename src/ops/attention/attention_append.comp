#version 460
// cache[length + r] = added[r]; rows beyond the cache's capacity are dropped.
// One invocation per element.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/attention/attention_append.params.h"

layout(local_size_x = 64) in;
PUSH(AttentionAppendParams);

void main() {
  const uint i = flat_index();
  const uint to = uint(I32(p.cache_length).v[0]) * p.width + i;
  if (i < p.count && to < p.capacity * p.width) F32(p.cache).v[to] = F32(p.added).v[i];
}
