// The product of low rank that a tile of gemm_split.comp adds (LoRA's), on matrix units too: low_a [m, RANK] times
// low_b, [n, RANK] in nt, else [RANK, n]. Rows and columns are short, so each finds its own scale; RANK is a multiple
// of 4. `low` is scaled: a row's and a column's inverse are in low_inverse.
const uint kLowPitch = 3;  // units of 8 elements from one row of 16 to the next
const uint LO_LOW = (BM + BN) * kLowPitch;
shared float low_inverse[BM + BN];  // of the tile's rows, then of its columns
Accumulator low[FM][FN];

// Elements k .. k + 3 of row i of the tile, of column i - BM from there on.
vec4 low4(uint i, uint k) {
  if (k >= RANK) return vec4(0);
  if (i < BM) return F32x4(p.low_a).v[(min(first_row + i, last_row) * RANK + k) / 4];
  const uint column = min(first_column + i - BM, p.n - 1);
  if (LAYOUT == NT) return F32x4(p.low_b).v[(column * RANK + k) / 4];
  vec4 t;
  [[unroll]] for (uint r = 0; r < 4; ++r) t[r] = F32(p.low_b).v[(k + r) * p.n + column];
  return t;
}

void share_low(uint k) {
  for (uint i = gl_LocalInvocationID.x; i < BM + BN; i += THREADS) {
    vec4 largest = vec4(0);
    for (uint l = 0; l < RANK; l += 4) largest = max(largest, abs(low4(i, l)));
    const uint bits = floatBitsToUint(max(max(largest.x, largest.y), max(largest.z, largest.w)));
    const float scale = scale_of(bits);
    low_inverse[i] = inverse_of(bits);
    [[unroll]] for (uint h = 0; h < 2; ++h)
      share_unit(i * kLowPitch + h, LO_LOW + i * kLowPitch + h, true, low4(i, k + 8 * h) * scale, low4(i, k + 8 * h + 4) * scale);
  }
}

FragmentA low_fragment_a(uint plane, uint m) {
  FragmentA f;
  coopMatLoad(f, tiles, plane + m * kLowPitch, kLowPitch, gl_CooperativeMatrixLayoutRowMajor);
  return f;
}
FragmentB low_fragment_b(uint plane, uint n) {
  FragmentB f;
  coopMatLoad(f, tiles, plane + (BM + n) * kLowPitch, kLowPitch, gl_CooperativeMatrixLayoutColumnMajor);
  return f;
}

void multiply_low(uint m, uint n) {
  FragmentA a[FM], a_lo[FM];
  [[unroll]] for (uint i = 0; i < FM; ++i) {
    a[i] = low_fragment_a(0, m + 16 * i);
    a_lo[i] = low_fragment_a(LO_LOW, m + 16 * i);
  }
  [[unroll]] for (uint j = 0; j < FN; ++j) {
    const FragmentB b = low_fragment_b(0, n + 16 * j), b_lo = low_fragment_b(LO_LOW, n + 16 * j);
    [[unroll]] for (uint i = 0; i < FM; ++i) {
      Accumulator sum = coopMatMulAdd(a_lo[i], b, Accumulator(0.0));
      sum = coopMatMulAdd(a[i], b_lo, sum);
      low[i][j] += coopMatMulAdd(a[i], b, sum);
    }
  }
}

void low_rank(uint m, uint n) {
  [[unroll]] for (uint i = 0; i < FM; ++i) [[unroll]] for (uint j = 0; j < FN; ++j) low[i][j] = Accumulator(0.0);
  for (uint k = 0; k < RANK; k += 16) {
    barrier();
    share_low(k);
    barrier();
    multiply_low(m, n);
  }
}
