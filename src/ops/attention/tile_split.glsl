// Matrix units (see ops/linear/gemm_split.comp for the arithmetic): 256 invocations, 16 (y) by 16 (x), hold
// 64 rows by 64 columns. Both operands of a product go through shared memory as hi and lo, each row scaled by the
// largest of its 64 elements; sums come back through it. Columns of a second product weigh rows that have a scale of
// their own: it goes into the weights, which are scaled along their row then. So no row depends on another one.
// Subgroups have 32 lanes; 16 invocations of a row are neighbours.
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "ops/linear/split.glsl"
layout(local_size_x = 256) in;

const uint kLanes = 16;
const uint kColumns = 64;
const uint kChunk = 64;
const uint kTileRows = 64;  // 16 * ROWS
const uint CHUNKS = (kDeepest + kChunk - 1) / kChunk;
const uint kPitch = 9;      // uvec4s of a row of 64 halves, one more for the banks
const uint kPlane = 64 * kPitch;
const uint kLoB = kPlane, kHiA = 2 * kPlane, kLoA = 3 * kPlane;  // b at 0; sums where a is
const uint kSums = kHiA, kSumPitch = 17;                         // vec4s of a row of 64 floats

// Fragments of a that does not change stay in registers (`hold`), when there are few.
layout(constant_id = 6) const bool HOLD = true;

shared uvec4 staged[4 * kPlane];
shared float inverse_a[2][64], inverse_b[64];

#define Accumulator coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define FragmentA coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define FragmentB coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>

uint lane() { return gl_LocalInvocationID.x % kLanes; }
int row_of(uint i) { return int(gl_LocalInvocationID.x / kLanes * ROWS + i); }

vec4 load4(Matrix m, uint start, uint d, uint depth) {
  if (!WIDE) return load_guarded(m, start, d, depth);
  return d < depth ? F32x4(m.address).v[(start + d) / 4] : vec4(0);
}

// An invocation loads 8 neighbours of two rows, 32 rows apart.
uint loaded_row(uint e) { return 32 * e + gl_LocalInvocationID.x / 8; }
uint loaded_d() { return gl_LocalInvocationID.x % 8 * 8; }
vec4 coming_a[4], coming_b[4];

void fetch_rows(out vec4 coming[4], Matrix m, int first_row, uint first, uint depth) {
  [[unroll]] for (uint e = 0; e < 2; ++e) {
    const uint start = row_start(m, first_row + int(loaded_row(e)));
    [[unroll]] for (uint h = 0; h < 2; ++h) coming[2 * e + h] = load4(m, start, first + loaded_d() + 4 * h, depth);
  }
}
void fetch(Operands now, uint first) {
  if (now.pair && !HOLD) fetch_rows(coming_a, now.a, now.a_row, first, now.depth);
  fetch_rows(coming_b, now.b, now.b_row, first, now.depth);
}
void begin(Operands first) { fetch(first, 0); }

uint largest_of(vec4 x) {
  const uvec4 m = floatBitsToUint(abs(x));
  return max(max(m.x, m.y), max(m.z, m.w));
}
// Over groups of `lanes` neighbours.
uint largest_among(uint x, uint lanes) {
  [[unroll]] for (uint stride = 1; stride < lanes; stride *= 2) x = max(x, subgroupShuffleXor(x, stride));
  return x;
}

float put_row(uint slot, vec4 x, vec4 y) {
  const uint largest = largest_among(max(largest_of(x), largest_of(y)), 8);
  const Split s = split8(x, y, scale_of(largest));
  staged[slot] = s.hi;
  staged[slot + kPlane] = s.lo;
  return inverse_of(largest);
}
uint row_slot(uint e) { return loaded_row(e) * kPitch + gl_LocalInvocationID.x % 8; }
void put_a(uint which) {
  [[unroll]] for (uint e = 0; e < 2; ++e) {
    const float inverse = put_row(kHiA + row_slot(e), coming_a[2 * e], coming_a[2 * e + 1]);
    if (gl_LocalInvocationID.x % 8 == 0) inverse_a[which][loaded_row(e)] = inverse;
  }
}
void put_b() {
  [[unroll]] for (uint e = 0; e < 2; ++e) {
    const float inverse = put_row(row_slot(e), coming_b[2 * e], coming_b[2 * e + 1]);
    if (gl_LocalInvocationID.x % 8 == 0) inverse_b[loaded_row(e)] = inverse;
  }
}

// A subgroup has 16 rows and 32 columns of a product over 64.
uint product_row() { return gl_SubgroupID % 4 * 16; }
uint product_column() { return gl_SubgroupID / 4 * 32; }

FragmentB fragment_b(uint plane, uint column, uint k, bool along_k) {
  FragmentB f;
  if (along_k) coopMatLoad(f, staged, plane + column * kPitch + k / 8, kPitch, gl_CooperativeMatrixLayoutColumnMajor);
  else coopMatLoad(f, staged, plane + k * kPitch + column / 8, kPitch, gl_CooperativeMatrixLayoutRowMajor);
  return f;
}

FragmentA held[2][4], held_lo[2][4];

FragmentA fragment_a(uint plane, uint k) {
  FragmentA f;
  coopMatLoad(f, staged, plane + product_row() * kPitch + 2 * k, kPitch, gl_CooperativeMatrixLayoutRowMajor);
  return f;
}

void hold(uint which, Matrix a, int a_row, uint depth) {
  if (!HOLD) return;
  barrier();
  fetch_rows(coming_a, a, a_row, 0, depth);
  put_a(which);
  barrier();
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    held[which][k] = fragment_a(kHiA, k);
    held_lo[which][k] = fragment_a(kLoA, k);
  }
}

// Of 64 of K in two parts of 32, for a column of fragments each.
struct Sums {
  Accumulator columns[2];
};
Sums multiply(FragmentA a[4], FragmentA a_lo[4], bool along_k) {
  Sums sums;
  [[unroll]] for (uint j = 0; j < 2; ++j) {
    const uint column = product_column() + 16 * j;
    Accumulator part[2];
    [[unroll]] for (uint h = 0; h < 2; ++h) {
      FragmentB b[2];
      Accumulator c = Accumulator(0.0);
      [[unroll]] for (uint k = 0; k < 2; ++k) b[k] = fragment_b(0, column, 32 * h + 16 * k, along_k);
      [[unroll]] for (uint k = 0; k < 2; ++k) c = coopMatMulAdd(a_lo[2 * h + k], b[k], c);
      [[unroll]] for (uint k = 0; k < 2; ++k)
        c = coopMatMulAdd(a[2 * h + k], fragment_b(kLoB, column, 32 * h + 16 * k, along_k), c);
      [[unroll]] for (uint k = 0; k < 2; ++k) c = coopMatMulAdd(a[2 * h + k], b[k], c);
      part[h] = c;
    }
    sums.columns[j] = part[0] + part[1];
  }
  return sums;
}
Sums multiply_staged(bool along_k) {
  FragmentA a[4], a_lo[4];
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    a[k] = fragment_a(kHiA, k);
    a_lo[k] = fragment_a(kLoA, k);
  }
  return multiply(a, a_lo, along_k);
}

void store_sums_of(Sums sums) {
  [[unroll]] for (uint j = 0; j < 2; ++j)
    coopMatStore(sums.columns[j], staged, kSums + product_row() * kSumPitch + (product_column() + 16 * j) / 4, kSumPitch,
                 gl_CooperativeMatrixLayoutRowMajor);
  barrier();
}
vec4 product_at(uint i) { return uintBitsToFloat(staged[kSums + uint(row_of(i)) * kSumPitch + lane()]); }

vec4 inverse_of_columns() {
  return vec4(inverse_b[4 * lane()], inverse_b[4 * lane() + 1], inverse_b[4 * lane() + 2], inverse_b[4 * lane() + 3]);
}

// What another invocation still reads is never overwritten: b and its scales are read before a product's last
// barrier, sums and weights before the next one's first.
void product_nt(inout vec4 s[ROWS], Operands now, Operands then) {
  for (uint first = 0; first < now.depth; first += 64) {
    if (!HOLD) {
      barrier();
      put_a(now.which);
    }
    put_b();
    barrier();
    const vec4 of_columns = inverse_of_columns();
    if (first + 64 < now.depth) fetch(now, first + 64);
    else fetch(then, 0);
    Sums sums;
    if (HOLD) {
      sums = multiply(held[now.which], held_lo[now.which], true);
    } else {
      sums = multiply_staged(true);
      barrier();
    }
    store_sums_of(sums);
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      precise vec4 sum = s[i] + product_at(i) * inverse_a[now.which][row_of(i)] * of_columns;
      s[i] = sum;
    }
  }
}

// Four weights of a row, scaled along it; the inverse of the scale.
float put_weights(uint i, vec4 weight) {
  const uint largest = largest_among(largest_of(weight), kLanes);
  const Split4 s = split4(weight * scale_of(largest));
  const uint slot = kHiA + uint(row_of(i)) * kPitch + lane() / 2;
  if (lane() % 2 == 0) {
    staged[slot].xy = s.hi;
    staged[kPlane + slot].xy = s.lo;
  } else {
    staged[slot].zw = s.hi;
    staged[kPlane + slot].zw = s.lo;
  }
  return inverse_of(largest);
}

void accumulate(inout vec4 o[ROWS][CHUNKS], float decay[ROWS], vec4 s[ROWS], Operands now, Operands then) {
  [[unroll]] for (uint j = 0; j < CHUNKS; ++j) {
    if (kChunk * j < now.depth) {
      put_b();
      barrier();
      const vec4 of_columns = inverse_of_columns();
      float inverse[ROWS];
      [[unroll]] for (uint i = 0; i < ROWS; ++i) inverse[i] = put_weights(i, s[i] * of_columns);
      barrier();
      if (kChunk * (j + 1) < now.depth) fetch(now, kChunk * (j + 1));
      else fetch(then, 0);
      const Sums sums = multiply_staged(false);
      barrier();
      store_sums_of(sums);
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        precise vec4 sum = fma(o[i][j], vec4(decay[i]), product_at(i) * inverse[i]);
        o[i][j] = sum;
      }
    }
  }
}

void row_maximum(vec4 s[ROWS], out float maximum[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    float x = max(max(s[i].x, s[i].y), max(s[i].z, s[i].w));
    [[unroll]] for (uint stride = 1; stride < kLanes; stride *= 2) x = max(x, subgroupShuffleXor(x, stride));
    maximum[i] = x;
  }
}

// Order: a tree over the 16 lanes, neighbours first.
void row_total(inout float x[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint stride = 1; stride < kLanes; stride *= 2) {
      precise float sum = x[i] + subgroupShuffleXor(x[i], stride);
      x[i] = sum;
    }
}
