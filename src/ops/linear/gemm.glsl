// What the CPU and the GPU GEMM share: constants, loads of B, the tile's rows and K range, the epilogue.
//   c[m,n] = scale * sum over k of A[m,k] B[k,n] + bias[n] + addend[m,n]
// Workgroup x owns a tile of rows, y a tile of columns, z a split of K or (grouped reduction) a group.
// Order of sums: K in chunks of 64; a fixed order inside a chunk; chunks added in order into `total`.
// A row's bits depend on neither the tile nor the other rows.
#include "ops/glsl/common.glsl"
#include "ops/linear/gemm.params.h"

#define NN 0
#define NT 1
#define TN 2
#define GROUPED_ROWS 1       // nn, nt: each group of rows has a B of its own
#define GROUPED_REDUCTION 2  // tn: each group of rows gives a C of its own

layout(constant_id = 0) const uint LAYOUT = NT;
layout(constant_id = 1) const uint GROUPED = 0;
layout(constant_id = 2) const bool A_VEC = true;  // rows may be read 4 elements at a time
layout(constant_id = 3) const bool B_VEC = true;
layout(constant_id = 4) const bool C_VEC = true;
layout(constant_id = 5) const bool K_TAIL = true;  // K may end inside a step (of 4 in the CPU kernel, of BK in the other)
layout(constant_id = 6) const bool ADDEND = true;
const uint kChunk = 64;

PUSH(GemmParams);

layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer U32x2 { uvec2 v[]; };

#if defined(CPU_PATH)
// On lavapipe each load is a loop over the lanes per component: two 64-bit ones beat four of 32.
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer U64x2 { u64vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer U64 { uint64_t v[]; };
vec4 load4(uvec2 base, uint i) {
  const u64vec2 t = U64x2(base).v[i];
  return vec4(uintBitsToFloat(unpack32(t.x)), uintBitsToFloat(unpack32(t.y)));
}
uvec2 load_pair(uvec2 base, uint i) { return unpack32(U64(base).v[i]); }
#else
vec4 load4(uvec2 base, uint i) { return F32x4(base).v[i]; }
uvec2 load_pair(uvec2 base, uint i) { return U32x2(base).v[i]; }
#endif

// One element of B, and four whose first index is 4 * i.
#if defined(B_BF16)
vec2 widen(uint w) { return vec2(uintBitsToFloat(w << 16), uintBitsToFloat(w & 0xffff0000u)); }
#elif defined(B_F16)
vec2 widen(uint w) { return unpackHalf2x16(w); }
#endif
#if defined(B_BF16) || defined(B_F16)
float b_at(uvec2 base, uint i) {
  const vec2 pair = widen(U32(base).v[i >> 1]);
  return (i & 1u) != 0 ? pair.y : pair.x;
}
vec4 b_at4(uvec2 base, uint i) {
  const uvec2 w = load_pair(base, i);
  return vec4(widen(w.x), widen(w.y));
}
#else
float b_at(uvec2 base, uint i) { return F32(base).v[i]; }
vec4 b_at4(uvec2 base, uint i) { return load4(base, i); }
#endif
float a_at(uvec2 base, uint i) { return F32(base).v[i]; }

// base + count * bytes, without 64-bit integers.
uvec2 advance(uvec2 base, uint count, uint bytes) {
  uint high, low, carry;
  umulExtended(count, bytes, high, low);
  low = uaddCarry(base.x, low, carry);
  return uvec2(low, base.y + high + carry);
}

struct Rows {
  uint first;
  uint end;  // of the group; not above first in a surplus tile
  uint group;
};

// The rows of tile number `tile`; in grouped rows each group starts a tile of its own.
Rows tile_rows(uint tile, uint height) {
  if (GROUPED != GROUPED_ROWS) return Rows(tile * height, p.m, 0);
  Rows found = Rows(0, 0, 0);
  uint begin = U32(p.offsets).v[0], before = 0;
  for (uint g = 0; g < p.groups; ++g) {
    const uint end = U32(p.offsets).v[g + 1], tiles = (end - begin + height - 1) / height;
    if (tile >= before && tile < before + tiles) found = Rows(begin + (tile - before) * height, end, g);
    before += tiles;
    begin = end;
  }
  return found;
}

// The [x, y) of K that this workgroup sums.
uvec2 k_range() {
  const uint z = gl_WorkGroupID.z;
  if (GROUPED == GROUPED_REDUCTION) return uvec2(U32(p.offsets).v[z], U32(p.offsets).v[z + 1]);
  const uint length = p.chunks_per_split * kChunk;
  return uvec2(z * length, min(p.k, (z + 1) * length));
}

// Adds bias (of these columns) and addend and writes four neighbours of a row of C.
void store4(uvec2 c, uvec2 addend, uint row, uint column, vec4 product, vec4 bias) {
  precise vec4 y = product;
  if (p.has_bias != 0) y += bias;
  const uint at = row * p.row_stride_c + column;
  if (C_VEC) {
    if (ADDEND) y += load4(addend, at / 4);
    F32x4(c).v[at / 4] = y;
  } else {
    [[unroll]] for (uint r = 0; r < 4; ++r) {
      if (column + r < p.n) F32(c).v[at + r] = ADDEND ? y[r] + F32(addend).v[at + r] : y[r];
    }
  }
}

vec4 scaled(vec4 sum) {
  precise vec4 y = p.scale * sum;
  return y;
}

vec4 bias4(uint column) {
  vec4 bias = vec4(0);
  if (p.has_bias != 0) {
    [[unroll]] for (uint r = 0; r < 4; ++r) bias[r] = F32(p.bias).v[min(column + r, p.n - 1)];
  }
  return bias;
}
