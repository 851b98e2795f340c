#version 460
//! variant vec4 -DT=vec4 -DBUFFER=F32x4
//! variant scalar -DT=float -DBUFFER=F32
// y[i] = x[i] cos - x[i+C] sin, y[i+C] = x[i+C] cos + x[i] sin, sin times `sign`; the rest is
// copied. An invocation owns one pair of units of a head, or one unit of the rest; y may be x.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/rope/rope.params.h"

layout(local_size_x = 64) in;
PUSH(RopeParams);

void main() {
  const uint i = flat_index();
  if (i >= p.count) return;
  const uint per_head = p.head_units - p.half_units;
  const uint head = i / per_head;
  const uint unit = i % per_head;
  if (unit >= p.half_units) {
    const uint at = head * p.head_units + p.half_units + unit;
    BUFFER(p.y).v[at] = BUFFER(p.x).v[at];
    return;
  }
  const uint first = head * p.head_units + unit;
  const uint second = first + p.half_units;
  const uint angle = uint(I32(p.positions).v[head / p.heads]) * p.half_units + unit;
  const T c = BUFFER(p.cos).v[angle];
  const T s = BUFFER(p.sin).v[angle] * p.sign;
  const T a = BUFFER(p.x).v[first];
  const T b = BUFFER(p.x).v[second];
  precise T ya = a * c - b * s;
  precise T yb = b * c + a * s;
  BUFFER(p.y).v[first] = ya;
  BUFFER(p.y).v[second] = yb;
}
