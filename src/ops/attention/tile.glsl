// What the attention kernels share: one workgroup holds a tile of scores, kTileRows rows by
// kColumns columns. An invocation holds `vec4 s[ROWS]`: rows row_of(0..ROWS-1), columns
// 4 * lane() .. + 3; and of an output `vec4 o[ROWS][CHUNKS]`: the same rows, elements
// kChunk * j + 4 * lane() .. + 3. tile_cpu.glsl, tile_gpu.glsl and tile_split.glsl implement, under the same names,
//   product_nt   s[r][c] += sum over d of a[r][d] * b[c][d]
//   accumulate   o[r][d] = o[r][d] * decay[r] + sum over c of s[r][c] * b[c][d]
// Each of the two is told what the next one reads, to load it meanwhile; `begin` loads for the first. `hold` tells
// before that what a of products is, which never changes: 64 rows of a depth.
//   row_maximum, row_total   over the columns of a tile
// No result of a row depends on ROWS, on the other rows of its tile or on where the tile begins.
layout(constant_id = 0) const uint ROWS = 8;
layout(constant_id = 1) const uint DEPTH = 64;    // of q and k
layout(constant_id = 2) const uint DEPTH_V = 64;  // of v and o
layout(constant_id = 3) const bool WIDE = true;   // both allow 16-byte loads (see tile_shape.cpp)
layout(constant_id = 4) const uint UNROLL = 1;    // CPU path: 4 * UNROLL elements per iteration

const uint kTableRows = 64;  // kAttentionTile of tiles.h
const uint kDeepest = DEPTH > DEPTH_V ? DEPTH : DEPTH_V;

// A matrix inside a [rows, heads, depth] tensor; rows after `last` are read as `last`.
struct Matrix {
  uvec2 address;
  uint start;   // element of row 0
  uint stride;  // elements from row to row
  int last;
  uint texels;  // a literal: the texel buffer that holds it too, on the CPU path
};
const uint kTexelsQ = 0, kTexelsK = 1, kTexelsV = 2, kTexelsGradO = 3, kNoTexels = 4;

// What a product reads: rows of a (only product_nt) and of b from a_row and b_row on, `depth` wide.
struct Operands {
  Matrix a;
  int a_row;
  Matrix b;
  int b_row;
  uint depth;
  bool pair;  // for product_nt; always a literal
  uint which; // 0 or 1, a literal: a is what was told to `hold` under this number
};
Operands pair_of(Matrix a, int a_row, Matrix b, int b_row, uint depth, uint which) {
  return Operands(a, a_row, b, b_row, depth, true, which);
}
Operands columns_of_rows(Matrix b, int b_row, uint depth) { return Operands(b, 0, b, b_row, depth, false, 0); }

uint row_start(Matrix m, int row) { return m.start + uint(min(row, m.last)) * m.stride; }

// Elements d .. d + 3 of a row; zeros from `depth` on.
vec4 load_guarded(Matrix m, uint start, uint d, uint depth) {
  vec4 x = vec4(0);
  [[unroll]] for (uint c = 0; c < 4; ++c)
    if (d + c < depth) x[c] = F32(m.address).v[start + d + c];
  return x;
}

void store4(Matrix m, uint start, uint d, uint depth, vec4 x) {
  if (WIDE) {
    if (d < depth) F32x4(m.address).v[(start + d) / 4] = x;
  } else {
    [[unroll]] for (uint c = 0; c < 4; ++c)
      if (d + c < depth) F32(m.address).v[start + d + c] = x[c];
  }
}

#ifdef CPU_PATH
#include "ops/attention/tile_cpu.glsl"
#elif defined(SPLIT)
#include "ops/attention/tile_split.glsl"
#else
#include "ops/attention/tile_gpu.glsl"
#endif

// The rows of a workgroup, both ends included, and their segment [segment_first, segment_end).
struct RowTile {
  int first;
  int last;
  int segment_first;
  int segment_end;
};

// Workgroup x of a table of tiles. The last come first: they have the most keys to visit.
RowTile row_tile(uvec2 table) {
  const uint parts = kTableRows / kTileRows;
  const uint index = gl_NumWorkGroups.x - 1 - gl_WorkGroupID.x;
  const uint entry = 4 * (index / parts);
  const int entry_first = I32(table).v[entry];
  const int first = entry_first + int(index % parts * kTileRows);
  const int end = min(first + int(kTileRows), entry_first + I32(table).v[entry + 1]);
  return RowTile(first, end - 1, I32(table).v[entry + 2], I32(table).v[entry + 3]);
}

// The tile of columns that holds `row`; tiles are counted from the segment's first row.
int column_tile(int row, int segment_first) {
  return segment_first + max(row - segment_first, 0) / int(kColumns) * int(kColumns);
}

ivec4 columns_of(int first) { return ivec4(first + int(4 * lane())) + ivec4(0, 1, 2, 3); }

// A key is seen by the `window` queries from its own row on.
bvec4 seen(ivec4 query, ivec4 key, uint window) {
  return lessThan(uvec4(query - key), uvec4(window));
}

vec4 exp4(vec4 x) { return vec4(m_exp(x.x), m_exp(x.y), m_exp(x.z), m_exp(x.w)); }
