#version 460
// GEMM for GPUs (see gemm.glsl): a workgroup owns BM rows x BN columns, an invocation RM x RN of them in
// vec4s BM/RM (BN/RN) apart. Steps of BK go through shared memory, stored along K with the vec4 index XORed
// so that transposing stores hit all banks; the next step's global loads are in registers meanwhile.
// Order inside a chunk: one fma after the other. Relies on no subgroup size; needs no 64-bit integers.
//! variant f32
//! variant f16 -DB_F16=1
//! variant bf16 -DB_BF16=1
#extension GL_GOOGLE_include_directive : require
#include "ops/linear/gemm.glsl"

layout(local_size_x_id = 7) in;  // (BM / RM) * (BN / RN)
layout(constant_id = 8) const uint BM = 128;
layout(constant_id = 9) const uint BN = 128;
layout(constant_id = 10) const uint BK = 32;
layout(constant_id = 11) const uint RM = 8;
layout(constant_id = 12) const uint RN = 8;
layout(constant_id = 13) const uint LM = 4;  // of 32 neighbouring invocations, those along M
layout(constant_id = 14) const uint UNROLL = 32;  // of BK; less is quicker to compile
const uint M_THREADS = BM / RM, N_THREADS = BN / RN, THREADS = M_THREADS * N_THREADS;
const uint A_LOADS = BM * BK / 4 / THREADS, B_LOADS = BN * BK / 4 / THREADS;

shared vec4 tile_a[BK * BM / 4];
shared vec4 tile_b[BK * BN / 4];

vec4 acc[RM][RN / 4], total[RM][RN / 4], next_a[A_LOADS], next_b[B_LOADS];
uvec2 base_b;
uint a_row[A_LOADS], b_row[B_LOADS];  // what a load's address needs besides k; see place_loads

// The mask keeps a narrow tile's XOR inside its row.
uint a_slot(uint k, uint m4) { return k * (BM / 4) + (m4 ^ ((k / 4 * (32 / BK)) & (BM / 4 - 1))); }
uint b_slot(uint k, uint n4) { return k * (BN / 4) + (n4 ^ ((k / 4 * (32 / BK)) & (BN / 4 - 1))); }

// Load number s of this invocation covers 4 elements along K of one row (A in nn and nt, B in nt) or 4
// elements along the row at one k.
uint load_index(uint s) { return gl_LocalInvocationID.x + s * THREADS; }

void place_loads(Rows rows, uint first_column) {
  [[unroll]] for (uint s = 0; s < A_LOADS; ++s) {
    if (LAYOUT == TN) {
      a_row[s] = rows.first + 4 * (load_index(s) % (BM / 4));
      if (A_VEC) a_row[s] = min(a_row[s], p.m - 4);
    } else {
      a_row[s] = min(rows.first + load_index(s) / (BK / 4), rows.end - 1) * p.row_stride_a;
    }
  }
  [[unroll]] for (uint s = 0; s < B_LOADS; ++s) {
    if (LAYOUT == NT) {
      b_row[s] = min(first_column + load_index(s) / (BK / 4), p.n - 1) * p.row_stride_b;
    } else {
      b_row[s] = first_column + 4 * (load_index(s) % (BN / 4));
      if (B_VEC) b_row[s] = min(b_row[s], p.n - 4);
    }
  }
}

vec4 fetch_a(uint s, uint first_k, uint end) {
  vec4 t;
  if (LAYOUT == TN) {
    const uint k = first_k + load_index(s) / (BM / 4), at = (K_TAIL ? min(k, end - 1) : k) * p.row_stride_a;
    if (A_VEC) t = load4(p.a, (at + a_row[s]) / 4);
    else [[unroll]] for (uint r = 0; r < 4; ++r) t[r] = a_at(p.a, at + min(a_row[s] + r, p.m - 1));
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  const uint k = first_k + 4 * (load_index(s) % (BK / 4));
  if (A_VEC) {
    t = load4(p.a, (a_row[s] + (K_TAIL ? min(k, end - 4) : k)) / 4);
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const float x = a_at(p.a, a_row[s] + min(k + r, end - 1));
    t[r] = k + r < end ? x : 0.0;
  }
  return t;
}

vec4 fetch_b(uint s, uint first_k, uint end) {
  vec4 t;
  if (LAYOUT != NT) {
    const uint k = first_k + load_index(s) / (BN / 4), at = (K_TAIL ? min(k, end - 1) : k) * p.row_stride_b;
    if (B_VEC) t = b_at4(base_b, (at + b_row[s]) / 4);
    else [[unroll]] for (uint r = 0; r < 4; ++r) t[r] = b_at(base_b, at + min(b_row[s] + r, p.n - 1));
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  const uint k = first_k + 4 * (load_index(s) % (BK / 4));
  if (B_VEC) {
    t = b_at4(base_b, (b_row[s] + (K_TAIL ? min(k, end - 4) : k)) / 4);
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const float x = b_at(base_b, b_row[s] + min(k + r, end - 1));
    t[r] = k + r < end ? x : 0.0;
  }
  return t;
}

void fetch(uint k, uint end) {
  [[unroll]] for (uint s = 0; s < A_LOADS; ++s) next_a[s] = fetch_a(s, k, end);
  [[unroll]] for (uint s = 0; s < B_LOADS; ++s) next_b[s] = fetch_b(s, k, end);
}

void share() {
  [[unroll]] for (uint s = 0; s < A_LOADS; ++s) {
    const uint i = load_index(s);
    if (LAYOUT == TN) {
      tile_a[a_slot(i / (BM / 4), i % (BM / 4))] = next_a[s];
    } else {
      const uint k = 4 * (i % (BK / 4)), m = i / (BK / 4);
      [[unroll]] for (uint r = 0; r < 4; ++r) tile_a[a_slot(k + r, m / 4)][m % 4] = next_a[s][r];
    }
  }
  [[unroll]] for (uint s = 0; s < B_LOADS; ++s) {
    const uint i = load_index(s);
    if (LAYOUT != NT) {
      tile_b[b_slot(i / (BN / 4), i % (BN / 4))] = next_b[s];
    } else {
      const uint k = 4 * (i % (BK / 4)), n = i / (BK / 4);
      [[unroll]] for (uint r = 0; r < 4; ++r) tile_b[b_slot(k + r, n / 4)][n % 4] = next_b[s][r];
    }
  }
}

void multiply_at(uint k, uint tm, uint tn) {
  vec4 a[RM / 4], b[RN / 4];
  [[unroll]] for (uint i = 0; i < RM / 4; ++i) a[i] = tile_a[a_slot(k, tm + i * M_THREADS)];
  [[unroll]] for (uint j = 0; j < RN / 4; ++j) b[j] = tile_b[b_slot(k, tn + j * N_THREADS)];
  [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN / 4; ++j)
    acc[i][j] = fma(vec4(a[i / 4][i % 4]), b[j], acc[i][j]);
}

void multiply(uint tm, uint tn) {
  if (UNROLL == BK) {
    [[unroll]] for (uint k = 0; k < BK; ++k) multiply_at(k, tm, tn);
  } else {
    [[dont_unroll]] for (uint step = 0; step < BK; step += UNROLL)
      [[unroll]] for (uint k = 0; k < UNROLL; ++k) multiply_at(step + k, tm, tn);
  }
}

void sum_over_k(uint tm, uint tn, uint begin, uint end) {
  fetch(begin, end);
  for (uint chunk = begin; chunk < end; chunk += kChunk) {
    const uint chunk_end = min(chunk + kChunk, end);
    for (uint k = chunk; k < chunk_end; k += BK) {
      barrier();
      share();
      barrier();
      if (k + BK < end) fetch(k + BK, end);
      multiply(tm, tn);
    }
    [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN / 4; ++j) {
      total[i][j] += acc[i][j];
      acc[i][j] = vec4(0);
    }
  }
}

void main() {
  const Rows rows = tile_rows(gl_WorkGroupID.x, BM);
  if (rows.first >= rows.end) return;
  const uvec2 range = k_range();
  const uint first_column = gl_WorkGroupID.y * BN;
  base_b = GROUPED == GROUPED_ROWS ? advance(p.b, rows.group, p.group_bytes_b) : p.b;
  place_loads(rows, first_column);
  [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN / 4; ++j)
    acc[i][j] = total[i][j] = vec4(0);

  const uint block = gl_LocalInvocationID.x / 32, lane = gl_LocalInvocationID.x % 32;
  const uint tm = block % (M_THREADS / LM) * LM + lane % LM;
  const uint tn = block / (M_THREADS / LM) * (32 / LM) + lane / LM;
  if (range.x < range.y) sum_over_k(tm, tn, range.x, range.y);

  const uvec2 c = advance(p.c, gl_WorkGroupID.z, p.z_bytes_c);
  const uvec2 addend = advance(p.addend, gl_WorkGroupID.z, p.z_bytes_c);
  [[unroll]] for (uint j = 0; j < RN / 4; ++j) {
    const uint column = first_column + 4 * (tn + j * N_THREADS);
    if (column < p.n) {
      const vec4 bias = bias4(column);
      [[unroll]] for (uint i = 0; i < RM; ++i) {
        const uint row = rows.first + 4 * (tm + i / 4 * M_THREADS) + i % 4;
        if (row < rows.end) store4(c, addend, row, column, total[i][j], bias);
      }
    }
  }
}
