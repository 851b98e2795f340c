#version 460
// y = word < threshold ? 0 : x * scale; the words' definition is in dropout.h.
// An invocation owns 4 columns of a row: one Philox block. y may be x.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/philox.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/elementwise/dropout.params.h"

layout(local_size_x = 64) in;
PUSH(DropoutParams);

const uint kSeedLo = 0, kSeedHi = 1, kStep = 2, kMicro = 3;  // as in ops/optim/step_params.h

void main() {
  const uint i = flat_index();
  if (i >= p.count) return;
  const uint row = i / p.blocks;
  const uint block = i % p.blocks;
  const uint key = U32(p.rows).v[row];
  const uvec4 counter =
      uvec4(key, p.site * 65536u + block, U32(p.step).v[kMicro], U32(p.step).v[kStep]);
  const uvec4 words =
      philox4x32(counter, uvec2(U32(p.step).v[kSeedLo], U32(p.step).v[kSeedHi]));
  const vec4 x = load4(p.x, row, 4 * block, p.width);
  const bvec4 dropped = lessThan(words, uvec4(p.threshold));
  store4(p.y, row, 4 * block, p.width, mix(x * p.scale, vec4(0), dropped));
}
