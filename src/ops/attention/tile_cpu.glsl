// lavapipe: a workgroup is one subgroup of 8 lanes. No shared memory: rows are broadcast by
// shuffles with one lane index for all (one instruction), and loads are few and come through texel buffers (see
// gemm_cpu.comp).
// Loops of one column tile: DEPTH / (4 * UNROLL) per product_nt and 8 per accumulate (tile_shape.cpp
// counts them against the driver's loop limit).
layout(local_size_x = 8) in;

const uint kLanes = 8;
const uint kColumns = 32;
const uint kChunk = 32;
const uint kTileRows = ROWS;
const uint kRowLoads = (ROWS + 7) / 8;
const uint CHUNKS = (kDeepest + kChunk - 1) / kChunk;

layout(set = 0, binding = 0) uniform samplerBuffer texels_q;
layout(set = 0, binding = 1) uniform samplerBuffer texels_k;
layout(set = 0, binding = 2) uniform samplerBuffer texels_v;
#if defined(GRADIENT)
layout(set = 0, binding = 3) uniform samplerBuffer texels_grad_o;
#endif

uint lane() { return gl_LocalInvocationID.x; }
int row_of(uint i) { return int(i); }

vec4 load4(Matrix m, uint start, uint d, uint depth) {
  if (!WIDE) return load_guarded(m, start, d, depth);
  const uint at = (start + min(d, depth - 4)) / 4;
  if (m.texels == kTexelsQ) return texelFetch(texels_q, int(at));
  if (m.texels == kTexelsK) return texelFetch(texels_k, int(at));
  if (m.texels == kTexelsV) return texelFetch(texels_v, int(at));
#if defined(GRADIENT)
  if (m.texels == kTexelsGradO) return texelFetch(texels_grad_o, int(at));
#endif
  return F32x4(m.address).v[at];
}

vec4 add_four(vec4 sum, vec4 w, vec4 b0, vec4 b1, vec4 b2, vec4 b3) {
  precise vec4 result = sum + ((w.x * b0 + w.y * b1) + (w.z * b2 + w.w * b3));
  return result;
}

void hold(uint which, Matrix a, int a_row, uint depth) {}
void begin(Operands first) {}

// Order: four elements of d pairwise, then one after the other.
void product_nt(inout vec4 s[ROWS], Operands now, Operands then) {
  const uint depth = now.depth;
  uint a_start[kRowLoads], b_start[4];
  [[unroll]] for (uint g = 0; g < kRowLoads; ++g)
    a_start[g] = row_start(now.a, now.a_row + int(8 * g + lane()));
  [[unroll]] for (uint c = 0; c < 4; ++c) b_start[c] = row_start(now.b, now.b_row + int(4 * lane() + c));
  for (uint first = 0; first < depth; first += 4 * UNROLL) {
    [[unroll]] for (uint u = 0; u < UNROLL; ++u) {
      const uint d = first + 4 * u;
      vec4 x[kRowLoads];
      [[unroll]] for (uint g = 0; g < kRowLoads; ++g) x[g] = load4(now.a, a_start[g], d, depth);
      const mat4 y = transpose(mat4(load4(now.b, b_start[0], d, depth), load4(now.b, b_start[1], d, depth),
                                    load4(now.b, b_start[2], d, depth), load4(now.b, b_start[3], d, depth)));
      [[unroll]] for (uint i = 0; i < ROWS; ++i)
        s[i] = add_four(s[i], subgroupShuffle(x[i / 8], i % 8), y[0], y[1], y[2], y[3]);
    }
  }
}

// Order: the tile's 32 columns in fours from the first, then that sum is added to o * decay.
void accumulate(inout vec4 o[ROWS][CHUNKS], float decay[ROWS], vec4 s[ROWS], Operands now, Operands then) {
  vec4 part[ROWS][CHUNKS];
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) part[i][j] = vec4(0);
  for (uint from = 0; from < 8; ++from) {
    vec4 y[4][CHUNKS];
    [[unroll]] for (uint c = 0; c < 4; ++c) {
      const uint start = row_start(now.b, now.b_row + int(4 * from + c));
      [[unroll]] for (uint j = 0; j < CHUNKS; ++j)
        y[c][j] = load4(now.b, start, kChunk * j + 4 * lane(), now.depth);
    }
    [[unroll]] for (uint i = 0; i < ROWS; ++i) {
      const vec4 w = subgroupShuffle(s[i], from);
      [[unroll]] for (uint j = 0; j < CHUNKS; ++j)
        part[i][j] = add_four(part[i][j], w, y[0][j], y[1][j], y[2][j], y[3][j]);
    }
  }
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint j = 0; j < CHUNKS; ++j) {
      precise vec4 sum = o[i][j] * decay[i] + part[i][j];
      o[i][j] = sum;
    }
}

void row_maximum(vec4 s[ROWS], out float maximum[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i) {
    float x = max(max(s[i].x, s[i].y), max(s[i].z, s[i].w));
    [[unroll]] for (uint step = 1; step < 8; step *= 2) x = max(x, subgroupShuffleXor(x, step));
    maximum[i] = x;
  }
}

// Every lane gets the same bits: the tree's sums are commutative.
void row_total(inout float x[ROWS]) {
  [[unroll]] for (uint i = 0; i < ROWS; ++i)
    [[unroll]] for (uint step = 1; step < 8; step *= 2) x[i] += subgroupShuffleXor(x[i], step);
}
