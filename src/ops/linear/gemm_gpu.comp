#version 460
// GEMM for GPUs (see gemm.glsl): a workgroup owns BM rows x BN columns, an invocation RM x RN of them in
// vec4s BM/RM (BN/RN) apart. Steps of BK go through shared memory, stored along K with the vec4 index XORed
// so that transposing stores hit all banks; the next step's global loads are in registers meanwhile.
// Order inside a chunk: one fma after the other. Relies on no subgroup size; needs no 64-bit integers.
//! variant f32 -O
//! variant f16 -O -DB_F16=1
//! variant bf16 -O -DB_BF16=1
//! variant f32.two -O -DTWO_BUFFERS=1
#extension GL_GOOGLE_include_directive : require
#include "ops/linear/gemm.glsl"

layout(local_size_x_id = 7) in;  // (BM / RM) * (BN / RN)
layout(constant_id = 8) const uint BM = 128;
layout(constant_id = 9) const uint BN = 128;
layout(constant_id = 10) const uint BK = 32;
layout(constant_id = 11) const uint RM = 8;
layout(constant_id = 12) const uint RN = 8;
layout(constant_id = 13) const uint LM = 4;  // of 32 neighbouring invocations, those along M: 4 or 8
layout(constant_id = 14) const uint UNROLL = 32;  // of BK; less is quicker to compile
layout(constant_id = 15) const bool INTERLEAVED = false;  // see lane_place
layout(constant_id = 16) const bool QUADS = false;        // see in_quads
layout(constant_id = 17) const uint FMA_ROWS = 1;     // see multiply_at
layout(constant_id = 18) const uint FMA_COLUMNS = 4;
const uint M_THREADS = BM / RM, N_THREADS = BN / RN, THREADS = M_THREADS * N_THREADS;
const uint A_LOADS = BM * BK / 4 / THREADS, B_LOADS = BN * BK / 4 / THREADS;
const uint A_SLOTS = BM * BK / 4, B_SLOTS = BN * BK / 4;

shared vec4 tile_a[A_SLOTS], tile_b[B_SLOTS];
#if defined(TWO_BUFFERS)  // not one array of twice the size: a store into one need not wait for loads of the other
shared vec4 other_a[A_SLOTS], other_b[B_SLOTS];
#else
#define other_a tile_a
#define other_b tile_b
#endif

vec4 acc[RM][RN / 4], total[RM][RN / 4], next_a[A_LOADS], next_b[B_LOADS];
uvec2 base_b;
uint first_row, first_column, last_row;
uint a_index[A_LOADS], b_index[B_LOADS];  // of a load at k = 0, in vec4s where the operand is read so

// What follows serves both operands: `b` is always a literal, and so is every condition on it. An operand
// lies along K when its rows do (A in nn and nt, B in nt), else across it.
bool along_k(bool b) { return b ? LAYOUT == NT : LAYOUT != TN; }
uint height(bool b) { return b ? BN : BM; }
uint stride(bool b) { return b ? p.row_stride_b : p.row_stride_a; }
bool is_vec(bool b) { return b ? B_VEC : A_VEC; }
float load_one(bool b, uint i) {
  if (b) return b_at(base_b, i);
  return a_at(p.a, i);
}
vec4 load_vec(bool b, uint i) {
  if (b) return b_at4(base_b, i);
  return load4(p.a, i);
}

// Whether an invocation loads four neighbouring rows at one k, to store them transposed as vec4s.
bool in_quads(bool b) { return QUADS && along_k(b) && (b ? B_LOADS : A_LOADS) % 4 == 0; }

// Load number s of an invocation along K: 4 elements of a row of the tile, from k = 4 * k4_along() on.
uint k4_along() { return gl_LocalInvocationID.x % (BK / 4); }
uint row_along(bool b, uint s) {
  const uint rows = THREADS / (BK / 4), row = gl_LocalInvocationID.x / (BK / 4);
  return in_quads(b) ? 4 * (row + s / 4 * rows) + s % 4 : row + s * rows;
}
// Load number s across K: 4 neighbours, at one k.
uint k_across(bool b, uint s) { return (gl_LocalInvocationID.x + s * THREADS) / (height(b) / 4); }
uint column_across(bool b, uint s) {
  return (b ? first_column : first_row) + (gl_LocalInvocationID.x + s * THREADS) % (height(b) / 4) * 4;
}

uint load_index(bool b, uint s) {
  uint index;
  if (along_k(b)) {
    const uint row = b ? min(first_column + row_along(b, s), p.n - 1)
                       : min(first_row + row_along(b, s), last_row);
    index = row * stride(b) + 4 * k4_along();
  } else {
    uint column = column_across(b, s);
    if (is_vec(b)) column = min(column, (b ? p.n : p.m) - 4);
    index = k_across(b, s) * stride(b) + column;
  }
  return is_vec(b) ? index / 4 : index;
}

vec4 fetch_along(bool b, uint index, uint first_k, uint end) {
  const uint k = first_k + 4 * k4_along();
  vec4 t;
  if (is_vec(b)) {
    uint at = index + first_k / 4;
    if (K_TAIL) at -= (k - min(k, end - 4)) / 4;
    t = load_vec(b, at);
    return K_TAIL && k >= end ? vec4(0) : t;
  }
  [[unroll]] for (uint r = 0; r < 4; ++r) {
    const uint beyond = k + r - min(k + r, end - 1);
    const float x = load_one(b, index + first_k + r - beyond);
    t[r] = beyond == 0 ? x : 0.0;
  }
  return t;
}

vec4 fetch_across(bool b, uint s, uint index, uint first_k, uint end) {
  const uint k = first_k + k_across(b, s), beyond = K_TAIL ? k - min(k, end - 1) : 0;
  vec4 t;
  if (is_vec(b)) {
    t = load_vec(b, index + first_k * stride(b) / 4 - beyond * stride(b) / 4);
  } else {
    const uint at = index + (first_k - beyond) * stride(b);
    const uint column = column_across(b, s), last = (b ? p.n : p.m) - 1;
    [[unroll]] for (uint r = 0; r < 4; ++r) t[r] = load_one(b, at + min(column + r, last) - column);
  }
  return beyond == 0 ? t : vec4(0);
}

void fetch(uint k, uint end) {
  [[unroll]] for (uint s = 0; s < A_LOADS; ++s) {
    if (along_k(false)) next_a[s] = fetch_along(false, a_index[s], k, end);
    else next_a[s] = fetch_across(false, s, a_index[s], k, end);
  }
  [[unroll]] for (uint s = 0; s < B_LOADS; ++s) {
    if (along_k(true)) next_b[s] = fetch_along(true, b_index[s], k, end);
    else next_b[s] = fetch_across(true, s, b_index[s], k, end);
  }
}

void put(bool b, uint side, uint slot, vec4 x) {
  if (b && side == 0) tile_b[slot] = x;
  else if (b) other_b[slot] = x;
  else if (side == 0) tile_a[slot] = x;
  else other_a[slot] = x;
}
void put_one(bool b, uint side, uint slot, uint component, float x) {
  if (b && side == 0) tile_b[slot][component] = x;
  else if (b) other_b[slot][component] = x;
  else if (side == 0) tile_a[slot][component] = x;
  else other_a[slot][component] = x;
}
vec4 next(bool b, uint s) {
  if (b) return next_b[s];
  return next_a[s];
}

// Where vec4 x of the row at k = 4 * k4 + r is. The XOR touches the low three bits of x alone, and k's low
// two do not matter to it: both are written so that what a constant adds stays outside. The mask keeps a
// narrow tile's XOR inside its row.
uint swizzled(bool b, uint x, uint k4) { return x ^ (k4 * (32 / BK) & (height(b) / 4 - 1)); }
uint slot_of(bool b, uint k4, uint r, uint swizzled_x) { return (4 * k4 + r) * (height(b) / 4) + swizzled_x; }

// Row s of an invocation's loads along K (a vec4 of rows in quads), as a vec4 index.
uint swizzled_row(bool b, uint s, uint rows_apart) {
  const uint apart = rows_apart / 4, first = row_along(b, 0) / 4;
  if (rows_apart % 32 == 0) return swizzled(b, first, k4_along()) + s * apart;
  return swizzled(b, (row_along(b, 0) + s * rows_apart) / 4, k4_along());
}

void share_along(bool b, uint side, uint loads) {
  const uint rows = THREADS / (BK / 4);
  if (in_quads(b)) {
    [[unroll]] for (uint s = 0; s < loads / 4; ++s) [[unroll]] for (uint r = 0; r < 4; ++r)
      put(b, side, slot_of(b, k4_along(), r, swizzled_row(b, s, 4 * rows)),
          vec4(next(b, 4 * s)[r], next(b, 4 * s + 1)[r], next(b, 4 * s + 2)[r], next(b, 4 * s + 3)[r]));
  } else {
    [[unroll]] for (uint s = 0; s < loads; ++s) [[unroll]] for (uint r = 0; r < 4; ++r)
      put_one(b, side, slot_of(b, k4_along(), r, swizzled_row(b, s, rows)), row_along(b, s) % 4, next(b, s)[r]);
  }
}

void share_across(bool b, uint side, uint loads) {
  [[unroll]] for (uint s = 0; s < loads; ++s) {
    const uint i = gl_LocalInvocationID.x + s * THREADS, k = i / (height(b) / 4);
    put(b, side, slot_of(b, k / 4, k % 4, swizzled(b, i % (height(b) / 4), k / 4)), next(b, s));
  }
}

void share(uint side) {
  if (along_k(false)) share_along(false, side, A_LOADS);
  else share_across(false, side, A_LOADS);
  if (along_k(true)) share_along(true, side, B_LOADS);
  else share_across(true, side, B_LOADS);
}

vec4 shared_a(uint side, uint slot) {
  if (side == 0) return tile_a[slot];
  return other_a[slot];
}
vec4 shared_b(uint side, uint slot) {
  if (side == 0) return tile_b[slot];
  return other_b[slot];
}

uint turned(uint x, uint count, bool back) { return back ? count - 1 - x : x; }

// The outer product of one k, in blocks of FMA_ROWS x FMA_COLUMNS walked to and fro: compilers keep to the
// order, and an operand that the last fma has read costs no register bandwidth (H200: 2 to 3 %).
// M_THREADS and N_THREADS are multiples of 8 wherever they are multiplied by more than 0.
void multiply_at(uint side, uint k4, uint r, uint tm, uint tn) {
  vec4 a[RM / 4], b[RN / 4];
  const uint from_a = slot_of(false, k4, r, swizzled(false, tm, k4));
  const uint from_b = slot_of(true, k4, r, swizzled(true, tn, k4));
  [[unroll]] for (uint i = 0; i < RM / 4; ++i) a[i] = shared_a(side, from_a + i * M_THREADS);
  [[unroll]] for (uint j = 0; j < RN / 4; ++j) b[j] = shared_b(side, from_b + j * N_THREADS);
  [[unroll]] for (uint row = 0; row < RM; row += FMA_ROWS) [[unroll]] for (uint column = 0; column < RN; column += FMA_COLUMNS)
    [[unroll]] for (uint r = 0; r < FMA_ROWS; ++r) [[unroll]] for (uint c = 0; c < FMA_COLUMNS; ++c) {
      const uint i = row + turned(r, FMA_ROWS, FMA_COLUMNS == 1 && column % 2 == 1);
      const uint j = column + turned(c, FMA_COLUMNS, (row + r) % 2 == 1);
      acc[i][j / 4][j % 4] = fma(a[i / 4][i % 4], b[j / 4][j % 4], acc[i][j / 4][j % 4]);
    }
}

void multiply(uint side, uint begin, uint end, uint tm, uint tn) {
  [[unroll]] for (uint k = begin; k < end; ++k) multiply_at(side, k / 4, k % 4, tm, tn);
}

void multiply_in_a_loop(uint tm, uint tn) {
  [[dont_unroll]] for (uint step = 0; step < BK / 4; step += UNROLL / 4)
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) multiply_at(0, step + k / 4, k % 4, tm, tn);
}

void add_chunk() {
  [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN / 4; ++j) {
    total[i][j] += acc[i][j];
    acc[i][j] = vec4(0);
  }
}

#if defined(TWO_BUFFERS)
// Multiplies out of one buffer while the next step goes into the other; the last step stores itself again.
void step(uint side, uint k, uint tm, uint tn, uint end) {
  barrier();
  fetch(k + BK < end ? k + BK : k, end);
  multiply(side, 0, BK * 3 / 4, tm, tn);
  share(1 - side);
  multiply(side, BK * 3 / 4, BK, tm, tn);
}

void sum_over_k(uint tm, uint tn, uint begin, uint end) {
  fetch(begin, end);
  share(0);
  for (uint chunk = begin; chunk < end; chunk += kChunk) {
    const uint chunk_end = min(chunk + kChunk, end);
    for (uint k = chunk; k < chunk_end; k += 2 * BK) {
      step(0, k, tm, tn, end);
      if (k + BK < chunk_end) step(1, k + BK, tm, tn, end);
    }
    add_chunk();
  }
}
#else
void sum_over_k(uint tm, uint tn, uint begin, uint end) {
  fetch(begin, end);
  for (uint chunk = begin; chunk < end; chunk += kChunk) {
    const uint chunk_end = min(chunk + kChunk, end);
    for (uint k = chunk; k < chunk_end; k += BK) {
      barrier();
      share(0);
      barrier();
      if (k + BK < end) fetch(k + BK, end);
      if (UNROLL == BK) multiply(0, 0, BK, tm, tn);
      else multiply_in_a_loop(tm, tn);
    }
    add_chunk();
  }
}
#endif

// Place of a lane among its 32 neighbours, LM along M. Interleaved: in any four neighbours, two have
// the same rows and two the same columns, which NVIDIA's 16-byte shared loads serve in half the time.
uvec2 lane_place(uint lane) {
  const uint ends = (lane & 1) | (lane >> 3 & 2), middle = lane >> 1 & 7;
  if (INTERLEAVED) return LM == 4 ? uvec2(ends, middle) : uvec2(middle, ends);
  return uvec2(lane % LM, lane / LM);
}

void store_tile(uint tm, uint tn) {
  const uvec2 c = advance(p.c, gl_WorkGroupID.z, p.z_bytes_c);
  const uvec2 addend = advance(p.addend, gl_WorkGroupID.z, p.z_bytes_c);
  [[unroll]] for (uint j = 0; j < RN / 4; ++j) {
    const uint column = first_column + 4 * (tn + j * N_THREADS);
    if (column < p.n) {
      const vec4 bias = bias4(column);
      [[unroll]] for (uint i = 0; i < RM; ++i) {
        const uint row = first_row + 4 * (tm + i / 4 * M_THREADS) + i % 4;
        if (row <= last_row) store4(c, addend, row, column, scaled(total[i][j]), bias);
      }
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
  [[unroll]] for (uint s = 0; s < A_LOADS; ++s) a_index[s] = load_index(false, s);
  [[unroll]] for (uint s = 0; s < B_LOADS; ++s) b_index[s] = load_index(true, s);
  [[unroll]] for (uint i = 0; i < RM; ++i) [[unroll]] for (uint j = 0; j < RN / 4; ++j)
    acc[i][j] = total[i][j] = vec4(0);

  const uint block = gl_LocalInvocationID.x / 32;
  const uvec2 place = lane_place(gl_LocalInvocationID.x % 32);
  const uint tm = block % (M_THREADS / LM) * LM + place.x;
  const uint tn = block / (M_THREADS / LM) * (32 / LM) + place.y;
  if (range.x < range.y) sum_over_k(tm, tn, range.x, range.y);
  store_tile(tm, tn);
}
