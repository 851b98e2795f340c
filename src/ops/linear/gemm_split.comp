#version 460
// GEMM on matrix units with FP32's accuracy (see gemm.glsl for what is computed). Each row of op(A) and column of
// op(B) is scaled by a power of two to at most 2^15 and its elements are split into hi + lo of 11 bits each in f16;
//   C = lo hi + hi lo + hi hi, lo lo left out (2^-22 of a product).
// Matrix units cut sums off where FP32 rounds. So a sum is started from zero every 32 of K, small products first
// while it is small, and added to f32 totals by ordinary additions. B of 16 bits has no lo: it is exact in hi.
// What is more than 2^17 below the largest of its row (column) along K loses low bits, 2^-39 of that largest.
// A workgroup of 32-lane subgroups owns BM x BN, a subgroup WM x WN, in steps of 32 along K through shared memory.
//! requires GL_KHR_cooperative_matrix
//! variant f32 -O -DB_LOW=1
//! variant f16 -O -DB_F16=1
//! variant bf16 -O -DB_BF16=1
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "ops/linear/gemm.glsl"
#include "ops/linear/split.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer U32x4 { uvec4 v[]; };
layout(local_size_x_id = 7) in;  // 32 * (BM / WM) * (BN / WN)
layout(constant_id = 8) const uint BM = 128;
layout(constant_id = 9) const uint BN = 128;
layout(constant_id = 10) const uint WM = 32;
layout(constant_id = 11) const uint WN = 32;
layout(constant_id = 12) const uint RANK = 0;  // of a product that is added; 0: there is none
const uint BK = 32;
const uint THREADS = 32 * (BM / WM) * (BN / WN);
const uint FM = WM / 16, FN = WN / 16;
// Units of 8 elements: of a row along K, or of one k across it. Rows in shared memory are a unit longer.
const uint A_UNITS = BM * BK / 8 / THREADS, B_UNITS = BN * BK / 8 / THREADS;
const uint PLANE_A = BM * (BK / 8 + 1), PLANE_B = BN * (BK / 8 + 1);
const uint LO_A = PLANE_A, HI_B = 2 * PLANE_A, LO_B = HI_B + PLANE_B;

shared uvec4 tiles[2 * (PLANE_A + PLANE_B)];

#define Accumulator coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
#define FragmentA coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>
#define FragmentB coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>

uvec2 base_b;
uint first_row, first_column, last_row;
vec4 next_a[2 * A_UNITS];
#if defined(B_LOW)
vec4 next_b[2 * B_UNITS];
#else
uvec4 next_b[B_UNITS];  // 8 elements as they are; B_VEC says that they may be read together
#endif
// Along K a unit lies in one row, else it has columns of its own, the same for all units of an invocation.
float row_scale_a[A_UNITS], row_scale_b[B_UNITS];
vec4 column_scale_a[2], column_scale_b[2];

// `b` is always a literal; see gemm_gpu.comp.
bool along_k(bool b) { return b ? LAYOUT == NT : LAYOUT != TN; }
uint height(bool b) { return b ? BN : BM; }
uint stride(bool b) { return b ? p.row_stride_b : p.row_stride_a; }
bool is_vec(bool b) { return b ? B_VEC : A_VEC; }
uint pitch(bool b) { return (along_k(b) ? BK : height(b)) / 8 + 1; }
float load_one(bool b, uint i) {
  if (b) return b_at(base_b, i);
  return a_at(p.a, i);
}
vec4 load_vec(bool b, uint i) {
  if (b) return b_at4(base_b, i);
  return load4(p.a, i);
}

uint unit(uint s) { return gl_LocalInvocationID.x + s * THREADS; }
uint row_along(uint s) { return unit(s) / (BK / 8); }
uint k_along(uint s) { return unit(s) % (BK / 8) * 8; }
uint k_across(bool b, uint s) { return unit(s) / (height(b) / 8); }
uint column_across(bool b, uint s) { return unit(s) % (height(b) / 8) * 8; }

// Four elements of row `row` from k on; zero from `end` on.
vec4 fetch_along(bool b, uint row, uint k, uint end) {
  const uint at = row * stride(b);
  vec4 t;
  if (is_vec(b)) {
    t = load_vec(b, (at + (K_TAIL ? min(k, end - 4) : k)) / 4);
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const float x = load_one(b, at + min(k + r, end - 1));
    t[r] = k + r < end ? x : 0.0;
  }
  return t;
}

// Four neighbouring columns at one k; zero from `end` on. What lies beyond the last column is not stored.
vec4 fetch_across(bool b, uint column, uint k, uint end) {
  const uint columns = b ? p.n : p.m, at = (K_TAIL ? min(k, end - 1) : k) * stride(b);
  vec4 t;
  if (is_vec(b)) {
    t = load_vec(b, (at + min(column, columns - 4)) / 4);
  } else {
    [[unroll]] for (uint r = 0; r < 4; ++r) t[r] = load_one(b, at + min(column + r, columns - 1));
  }
  return K_TAIL && k >= end ? vec4(0) : t;
}

vec4 fetch_half(bool b, uint s, uint half_of_unit, uint k, uint end) {
  if (along_k(b)) {
    const uint row = b ? min(first_column + row_along(s), p.n - 1) : min(first_row + row_along(s), last_row);
    return fetch_along(b, row, k + k_along(s) + 4 * half_of_unit, end);
  }
  const uint column = (b ? first_column : first_row) + column_across(b, s) + 4 * half_of_unit;
  return fetch_across(b, column, k + k_across(b, s), end);
}

#if defined(B_LOW)
void fetch_b(uint s, uint k, uint end) {
  [[unroll]] for (uint h = 0; h < 2; ++h) next_b[2 * s + h] = fetch_half(true, s, h, k, end);
}
vec4 fetched_b(uint s, uint h) { return next_b[2 * s + h]; }
#else
uint load_16(uint i) { return U32(base_b).v[i / 2] >> 16 * (i % 2) & 0xffffu; }
void fetch_b(uint s, uint k, uint end) {
  const uint row = along_k(true) ? min(first_column + row_along(s), p.n - 1) : min(k + k_across(true, s), end - 1);
  const uint first = along_k(true) ? k + k_along(s) : first_column + column_across(true, s);
  const uint count = along_k(true) ? end : p.n, at = row * p.row_stride_b;
  uvec4 t;
  if (B_VEC) {
    t = U32x4(base_b).v[(at + min(first, count - 8)) / 8];
  } else {
    [[unroll]] for (uint r = 0; r < 4; ++r)
      t[r] = load_16(at + min(first + 2 * r, count - 1)) | load_16(at + min(first + 2 * r + 1, count - 1)) << 16;
  }
  if (K_TAIL && along_k(true)) {
    [[unroll]] for (uint r = 0; r < 4; ++r)
      t[r] &= first + 2 * r + 1 < end ? 0xffffffffu : first + 2 * r < end ? 0xffffu : 0u;
  }
  next_b[s] = K_TAIL && !along_k(true) && k + k_across(true, s) >= end ? uvec4(0) : t;
}
vec4 fetched_b(uint s, uint h) { return vec4(widen(next_b[s][2 * h]), widen(next_b[s][2 * h + 1])); }
#endif

void fetch(uint k, uint end) {
  [[unroll]] for (uint s = 0; s < A_UNITS; ++s) [[unroll]] for (uint h = 0; h < 2; ++h)
    next_a[2 * s + h] = fetch_half(false, s, h, k, end);
  [[unroll]] for (uint s = 0; s < B_UNITS; ++s) fetch_b(s, k, end);
}

uint largest(bool b, uint i) { return b ? U32(p.largest_b).v[min(i, p.n - 1)] : U32(p.largest_a).v[min(i, p.m - 1)]; }

float scale_of_row(bool b, uint s) {
  return scale_of(largest(b, b ? first_column + row_along(s) : min(first_row + row_along(s), last_row)));
}
vec4 scale_of_columns(bool b, uint half_of_unit) {
  const uint column = (b ? first_column : first_row) + column_across(b, 0) + 4 * half_of_unit;
  vec4 scale;
  [[unroll]] for (uint r = 0; r < 4; ++r) scale[r] = scale_of(largest(b, column + r));
  return scale;
}
void find_scales() {
  [[unroll]] for (uint s = 0; s < A_UNITS; ++s) if (along_k(false)) row_scale_a[s] = scale_of_row(false, s);
  [[unroll]] for (uint s = 0; s < B_UNITS; ++s) if (along_k(true)) row_scale_b[s] = scale_of_row(true, s);
  [[unroll]] for (uint h = 0; h < 2; ++h) {
    if (!along_k(false)) column_scale_a[h] = scale_of_columns(false, h);
    if (!along_k(true)) column_scale_b[h] = scale_of_columns(true, h);
  }
}
vec4 scaled_a(uint s, uint h) { return next_a[2 * s + h] * (along_k(false) ? vec4(row_scale_a[s]) : column_scale_a[h]); }
vec4 scaled_b(uint s, uint h) { return fetched_b(s, h) * (along_k(true) ? vec4(row_scale_b[s]) : column_scale_b[h]); }

void share_unit(uint hi_slot, uint lo_slot, bool has_lo, vec4 x, vec4 y) {
  const Split4 first = split4(x), second = split4(y);
  tiles[hi_slot] = uvec4(first.hi, second.hi);
  if (has_lo) tiles[lo_slot] = uvec4(first.lo, second.lo);
}

uint slot(bool b, uint s) {
  if (along_k(b)) return row_along(s) * pitch(b) + k_along(s) / 8;
  return k_across(b, s) * pitch(b) + column_across(b, s) / 8;
}

#if defined(B_LOW)
const bool kLowB = true;
#else
const bool kLowB = false;
#endif

void share() {
  [[unroll]] for (uint s = 0; s < A_UNITS; ++s)
    share_unit(slot(false, s), LO_A + slot(false, s), true, scaled_a(s, 0), scaled_a(s, 1));
  [[unroll]] for (uint s = 0; s < B_UNITS; ++s)
    share_unit(HI_B + slot(true, s), LO_B + slot(true, s), kLowB, scaled_b(s, 0), scaled_b(s, 1));
}

// A fragment of 16 x 16 at row m (column n) and k of the tile.
FragmentA fragment_a(uint plane, uint m, uint k) {
  FragmentA f;
  if (along_k(false)) coopMatLoad(f, tiles, plane + m * pitch(false) + k / 8, pitch(false), gl_CooperativeMatrixLayoutRowMajor);
  else coopMatLoad(f, tiles, plane + k * pitch(false) + m / 8, pitch(false), gl_CooperativeMatrixLayoutColumnMajor);
  return f;
}
FragmentB fragment_b(uint plane, uint n, uint k) {
  FragmentB f;
  if (along_k(true)) coopMatLoad(f, tiles, plane + n * pitch(true) + k / 8, pitch(true), gl_CooperativeMatrixLayoutColumnMajor);
  else coopMatLoad(f, tiles, plane + k * pitch(true) + n / 8, pitch(true), gl_CooperativeMatrixLayoutRowMajor);
  return f;
}

Accumulator total[FM][FN];

// 32 of K: one column of fragments after the other, so that few of B are held at a time.
void multiply(uint m, uint n) {
  FragmentA a[FM][2], a_lo[FM][2];
  [[unroll]] for (uint i = 0; i < FM; ++i) [[unroll]] for (uint k = 0; k < 2; ++k) {
    a[i][k] = fragment_a(0, m + 16 * i, 16 * k);
    a_lo[i][k] = fragment_a(LO_A, m + 16 * i, 16 * k);
  }
  [[unroll]] for (uint j = 0; j < FN; ++j) {
    Accumulator sum[FM];
    FragmentB b[2];
    [[unroll]] for (uint k = 0; k < 2; ++k) b[k] = fragment_b(HI_B, n + 16 * j, 16 * k);
    [[unroll]] for (uint i = 0; i < FM; ++i) sum[i] = coopMatMulAdd(a_lo[i][0], b[0], Accumulator(0.0));
    [[unroll]] for (uint i = 0; i < FM; ++i) sum[i] = coopMatMulAdd(a_lo[i][1], b[1], sum[i]);
#if defined(B_LOW)
    [[unroll]] for (uint k = 0; k < 2; ++k) {
      const FragmentB b_lo = fragment_b(LO_B, n + 16 * j, 16 * k);
      [[unroll]] for (uint i = 0; i < FM; ++i) sum[i] = coopMatMulAdd(a[i][k], b_lo, sum[i]);
    }
#endif
    [[unroll]] for (uint k = 0; k < 2; ++k) [[unroll]] for (uint i = 0; i < FM; ++i)
      sum[i] = coopMatMulAdd(a[i][k], b[k], sum[i]);
    [[unroll]] for (uint i = 0; i < FM; ++i) total[i][j] += sum[i];
  }
}

void sum_over_k(uint m, uint n, uint begin, uint end) {
  fetch(begin, end);
  for (uint k = begin; k < end; k += BK) {
    barrier();
    share();
    barrier();
    if (k + BK < end) fetch(k + BK, end);
    multiply(m, n);
  }
}

#include "ops/linear/split_low_rank.glsl"

// 16 rows at a time go through a subgroup's own part of shared memory, so that whole rows are stored.
const uint kStorePitch = WN / 4 + 1, kStoreLanes = WN / 4, kStoreRows = 32 / kStoreLanes;
const uint kStoreSteps = 16 / kStoreRows;

void stage(Accumulator rows[FN]) {
  const uint mine = gl_SubgroupID * 16 * kStorePitch;
  subgroupBarrier();
  [[unroll]] for (uint j = 0; j < FN; ++j)
    coopMatStore(rows[j], tiles, mine + 4 * j, kStorePitch, gl_CooperativeMatrixLayoutRowMajor);
  subgroupBarrier();
}
uint staged_row(uint s) { return s * kStoreRows + gl_SubgroupInvocationID / kStoreLanes; }
vec4 staged(uint s) {
  const uint mine = gl_SubgroupID * 16 * kStorePitch;
  return uintBitsToFloat(tiles[mine + staged_row(s) * kStorePitch + gl_SubgroupInvocationID % kStoreLanes]);
}

void store(uint m, uint n, bool with_low) {
  const uvec2 c = advance(p.c, gl_WorkGroupID.z, p.z_bytes_c);
  const uvec2 addend = advance(p.addend, gl_WorkGroupID.z, p.z_bytes_c);
  const uint x = n + 4 * (gl_SubgroupInvocationID % kStoreLanes), column = first_column + x;
  const vec4 bias = bias4(column);
  vec4 inverse_b, low_inverse_b;
  [[unroll]] for (uint r = 0; r < 4; ++r) inverse_b[r] = inverse_of(largest(true, column + r));
  if (RANK > 0) [[unroll]] for (uint r = 0; r < 4; ++r) low_inverse_b[r] = low_inverse[BM + x + r];
  barrier();
  [[unroll]] for (uint i = 0; i < FM; ++i) {
    vec4 product[kStoreSteps];
    stage(total[i]);
    [[unroll]] for (uint s = 0; s < kStoreSteps; ++s) {
      const vec4 sum = staged(s) * inverse_of(largest(false, first_row + m + 16 * i + staged_row(s))) * inverse_b;
      product[s] = RANK > 0 ? sum : scaled(sum);
    }
    if (with_low) {
      stage(low[i]);
      [[unroll]] for (uint s = 0; s < kStoreSteps; ++s) {
        precise vec4 y = product[s] + scaled(staged(s) * low_inverse[m + 16 * i + staged_row(s)] * low_inverse_b);
        product[s] = y;
      }
    }
    [[unroll]] for (uint s = 0; s < kStoreSteps; ++s) {
      const uint row = first_row + m + 16 * i + staged_row(s);
      if (row <= last_row && column < p.n) store4(c, addend, row, column, product[s], bias);
    }
  }
}

void main() {
  const Rows rows = tile_rows(gl_WorkGroupID.x, BM);
  if (rows.first >= rows.end) return;
  const uvec2 range = k_range();
  first_row = rows.first;
  last_row = rows.end - 1;
  first_column = gl_WorkGroupID.y * BN;
  base_b = GROUPED == GROUPED_ROWS ? advance(p.b, rows.group, p.group_bytes_b) : p.b;
  find_scales();
  [[unroll]] for (uint i = 0; i < FM; ++i) [[unroll]] for (uint j = 0; j < FN; ++j)
    total[i][j] = Accumulator(0.0);

  const uint m = gl_SubgroupID % (BM / WM) * WM, n = gl_SubgroupID / (BM / WM) * WN;
  if (range.x < range.y) sum_over_k(m, n, range.x, range.y);
  const bool with_low = RANK > 0 && gl_WorkGroupID.z == 0;  // the first split of K has it
  if (with_low) low_rank(m, n);
  store(m, n, with_low);
}
