// GPUs: 128 invocations, 8 (y) by 16 (x), hold 8 * ROWS rows by 64 columns. Operands pass through
// 16 KiB of shared memory, scores that weigh a second product through another 2 * ROWS KiB; what comes
// next is on its way into registers during each product. No subgroup operations; every fused multiply-add is explicit, so that bits do not depend on ROWS.
layout(local_size_x = 128) in;

const uint kLanes = 16;
const uint kColumns = 64;
const uint kChunk = 64;
const uint kTileRows = 8 * ROWS;
const uint CHUNKS = (kDeepest + kChunk - 1) / kChunk;
const uint kThreads = 128;
const uint kDepthStep = 32;          // elements of d staged at once by product_nt
const uint kStep4 = kDepthStep / 4;

shared vec4 staged[1024];            // product_nt: a at 0, b at 512; accumulate: b
shared vec4 scores[kTileRows * 16];  // [row][column / 4]; scratch of the row reductions

uint lane() { return gl_LocalInvocationID.x % kLanes; }
int row_of(uint i) { return int(gl_LocalInvocationID.x / kLanes * ROWS + i); }

vec4 load4(Matrix m, uint start, uint d, uint depth) {
  if (!WIDE) return load_guarded(m, start, d, depth);
  return d < depth ? F32x4(m.address).v[(start + d) / 4] : vec4(0);
}

// Rows of b are read by 8 invocations at a time, 4 rows apart: spread over all banks.
uint b_slot(uint row, uint d4) { return 512 + row * kStep4 + (d4 ^ (row / 4 % kStep4)); }

// On their way to shared memory: product_nt's b in 0..3, its a in 4..7; accumulate's b in 0..7.
vec4 coming[8];
const uint kPairLoads = kColumns * kStep4 / kThreads;

// Load number e of an invocation: a row of the tile and the vec4 in it.
uint pair_row(uint e) { return (e * kThreads + gl_LocalInvocationID.x) / kStep4; }
uint pair_d4() { return gl_LocalInvocationID.x % kStep4; }
uint column_row(uint e) { return (e * kThreads + gl_LocalInvocationID.x) / kLanes; }

void fetch(Operands now, uint first) {
  if (now.pair) {
    const uint d = first + 4 * pair_d4();
    [[unroll]] for (uint e = 0; e < kPairLoads; ++e) {
      coming[e] = load4(now.b, row_start(now.b, now.b_row + int(pair_row(e))), d, now.depth);
      if (e * kThreads / kStep4 < kTileRows)
        coming[4 + e] = load4(now.a, row_start(now.a, now.a_row + int(pair_row(e))), d, now.depth);
    }
  } else {
    [[unroll]] for (uint e = 0; e < 8; ++e)
      coming[e] = load4(now.b, row_start(now.b, now.b_row + int(column_row(e))), first + 4 * lane(), now.depth);
  }
}

void put_pair() {
  [[unroll]] for (uint e = 0; e < kPairLoads; ++e) {
    staged[b_slot(pair_row(e), pair_d4())] = coming[e];
    if (pair_row(e) < kTileRows) staged[pair_row(e) * kStep4 + pair_d4()] = coming[4 + e];
  }
}

void put_columns() {
  [[unroll]] for (uint e = 0; e < 8; ++e) staged[column_row(e) * kLanes + lane()] = coming[e];
}

void hold(uint which, Matrix a, int a_row, uint depth) {}
void begin(Operands first) { fetch(first, 0); }

vec4 add_four(vec4 sum, vec4 w, vec4 b0, vec4 b1, vec4 b2, vec4 b3) {
  precise vec4 x = fma(vec4(w.x), b0, sum);
  x = fma(vec4(w.y), b1, x);
  x = fma(vec4(w.z), b2, x);
  x = fma(vec4(w.w), b3, x);
  return x;
}

// Order: 32 elements of d one after the other, then their sums one after the other.
void product_nt(inout vec4 s[ROWS], Operands now, Operands then) {
  for (uint first = 0; first < now.depth; first += kDepthStep) {
    barrier();
    put_pair();
    barrier();
    if (first + kDepthStep < now.depth) fetch(now, first + kDepthStep);
    else fetch(then, 0);
    vec4 part[ROWS];
    [[unroll]] for (uint i = 0; i < ROWS; ++i) part[i] = vec4(0);
    [[unroll]] for (uint d4 = 0; d4 < kStep4; ++d4) {
      const mat4 y = transpose(mat4(staged[b_slot(4 * lane(), d4)], staged[b_slot(4 * lane() + 1, d4)],
                                    staged[b_slot(4 * lane() + 2, d4)], staged[b_slot(4 * lane() + 3, d4)]));
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        part[i] = add_four(part[i], staged[row_of(i) * kStep4 + d4], y[0], y[1], y[2], y[3]);
    }
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      precise vec4 sum = s[i] + part[i];
      s[i] = sum;
    }
  }
}

void weigh_staged(out vec4 part[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i) part[i] = vec4(0);
  // Four steps at a time: 3 % faster than one on an H200, quicker to compile than all.
  [[dont_unroll]] for (uint first = 0; first < kColumns / 4; first += 4)
    [[unroll]] for (uint c4 = first; c4 < first + 4; ++c4) {
      const uint at = 4 * c4 * kLanes + lane();
      const vec4 y0 = staged[at], y1 = staged[at + kLanes], y2 = staged[at + 2 * kLanes],
                 y3 = staged[at + 3 * kLanes];
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        part[i] = add_four(part[i], scores[row_of(i) * kLanes + c4], y0, y1, y2, y3);
    }
}

// Order: the tile's 64 columns one after the other, then that sum is added to o * decay.
void accumulate(inout vec4 o[ROWS][CHUNKS], float decay[ROWS], vec4 s[ROWS], Operands now, Operands then) {
  barrier();
  [[unroll]] for (uint i = 0; i < ROWS; ++i) scores[row_of(i) * kLanes + lane()] = s[i];
  [[unroll]] for (uint j = 0; j < CHUNKS; ++j) {
    if (kChunk * j < now.depth) {
      if (j > 0) barrier();
      put_columns();
      barrier();
      if (kChunk * (j + 1) < now.depth) fetch(now, kChunk * (j + 1));
      else fetch(then, 0);
      vec4 part[ROWS];
      weigh_staged(part);
      [[unroll]] for (uint i = 0; i < ROWS; ++i) {
        precise vec4 sum = fma(o[i][j], vec4(decay[i]), part[i]);
        o[i][j] = sum;
      }
    }
  }
}

// Scratch of reductions: one float per (lane, row), a row's floats in different vec4s.
void put_row_partial(uint i, float x) {
  const uint row = row_of(i);
  scores[lane() * (kTileRows / 4) + row / 4][row % 4] = x;
}
float row_partial(uint from, uint row) { return scores[from * (kTileRows / 4) + row / 4][row % 4]; }

// Comes after a product_nt, whose barriers tell that the scores are free.
void row_maximum(vec4 s[ROWS], out float maximum[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    put_row_partial(i, max(max(s[i].x, s[i].y), max(s[i].z, s[i].w)));
  barrier();
  const uint row = gl_LocalInvocationID.x;
  if (row < kTileRows) {
    float x = row_partial(0, row);
    [[unroll]] for (uint from = 1; from < kLanes; ++from) x = max(x, row_partial(from, row));
    staged[row / 4][row % 4] = x;
  }
  barrier();
  [[unroll]] for (uint i = 0; i < ROWS; ++i) maximum[i] = staged[row_of(i) / 4][row_of(i) % 4];
}

// Order: the 16 lanes one after the other.
void row_total(inout float x[ROWS]) {
  barrier();
  [[unroll]] for (uint i = 0; i < ROWS; ++i) put_row_partial(i, x[i]);
  barrier();
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    precise float sum = row_partial(0, row_of(i));
    [[unroll]] for (uint from = 1; from < kLanes; ++from) sum += row_partial(from, row_of(i));
    x[i] = sum;
  }
}
