#pragma once

#include <cstdint>
#include <vector>

#include "ops/linear/gemm.h"

namespace lemnos {

/// lavapipe of Mesa 22 stops all loops of an invocation after 65,534 rounds; a K step is 4 long.
inline constexpr int64_t kLongestSum = 196608;

/// How the GPU kernel cuts a product up; never changes a bit of the result (see gemm_gpu.comp).
struct GemmTile {
  uint32_t bm, bn, bk;  // of a workgroup
  uint32_t rm, rn;      // of an invocation
  uint32_t lm;          // of 32 neighbouring invocations, those along M
  uint32_t unroll;      // steps of bk in one loop body: bk is fastest, less is quicker to compile
  bool interleaved = false;  // lanes of the 32 (lane_place in gemm_gpu.comp)
  bool quads = false;        // transposing stores of 16 bytes (in_quads)
  uint32_t buffers = 1;      // of each operand's shared tile; 2 only for f32 and unroll = bk
  uint32_t fma_rows = 1, fma_columns = 4;  // order of the products of one k (multiply_at in gemm_gpu.comp)
  uint32_t threads() const { return bm / rm * (bn / rn); }
  uint32_t shared_bytes() const { return (bm + bn) * bk * 4 * buffers; }
};

/// How the split-precision kernel cuts a product up (gemm_split.comp); never changes a bit either.
struct GemmSplitTile {
  uint32_t bm, bn;  // of a workgroup
  uint32_t wm, wn;  // of a subgroup of 32
  uint32_t threads() const { return 32 * (bm / wm) * (bn / wn); }
};

/// The same for lavapipe: rows and 32-column blocks of a workgroup.
struct GemmCpuTile {
  uint32_t rows, column_blocks;
};

/// Tiles and variants worth measuring on a new GPU for one shape.
std::vector<GemmTile> gemm_tile_candidates(const GemmCall& call, const DeviceProfile& device);
GemmTile choose_gemm_tile(const GemmCall& call, const DeviceProfile& device);
std::vector<GemmSplitTile> gemm_split_tile_candidates();
GemmSplitTile choose_gemm_split_tile(const GemmCall& call);
/// `plain`: the kernel needs none of its code for odd shapes, which takes lavapipe long to compile.
GemmCpuTile choose_gemm_cpu_tile(const GemmCall& call, bool plain);

/// The order table: into how many runs of whole 64-chunks K is cut. For nn and nt a function of n
/// and k alone, so that a row's bits do not depend on how many rows there are; for tn (a weight
/// gradient, where m and n are the weight's) also of m.
int64_t gemm_splits(const GemmCall& call);

/// `gemm` with the GPU kernel and a given tile, and for benchmarks with other splits than
/// gemm_splits (which changes the order of sums).
std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmTile& tile);
std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmTile& tile, int64_t splits);
std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmSplitTile& tile, int64_t splits);

}  // namespace lemnos
