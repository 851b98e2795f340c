#version 460
//! variant f32
//! variant f16 -DF16=1
//! variant bf16 -DBF16=1
// y[n] = weight[ids[n]]. An invocation owns 4 columns of a row. 16-bit weights are read as 32-bit
// words, so no 16-bit storage is needed.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/embed/embedding.params.h"

layout(local_size_x = 64) in;
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer U32x2 { uvec2 v[]; };
PUSH(EmbeddingParams);

#if defined(F16) || defined(BF16)
vec2 widen(uint pair) {
#ifdef F16
  return unpackHalf2x16(pair);
#else
  return vec2(uintBitsToFloat(pair << 16), uintBitsToFloat(pair & 0xffff0000u));
#endif
}

vec4 weight4(uint row, uint column) {
  const uint at = row * p.width + column;
  if (kWidthBy4) {
    const uvec2 pairs = U32x2(p.weight).v[at / 4];
    return vec4(widen(pairs.x), widen(pairs.y));
  }
  vec4 x = vec4(0);
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (column + k < p.width) x[k] = widen(U32(p.weight).v[(at + k) / 2])[(at + k) % 2];
  return x;
}
#else
vec4 weight4(uint row, uint column) { return load4(p.weight, row, column, p.width); }
#endif

void main() {
  const uint i = flat_index();
  if (i >= p.count) return;
  const uint row = i / p.blocks;
  const uint column = 4 * (i % p.blocks);
  store4(p.y, row, column, p.width, weight4(uint(I32(p.ids).v[row]), column));
}
