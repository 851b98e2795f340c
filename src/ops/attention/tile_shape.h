#pragma once

#include <cstdint>
#include <vector>

#include "graph/kernel_call.h"

namespace lemnos {

/// What an attention kernel does per tile of columns, for the choice of its tile and for the count
/// of its loops.
struct TileWork {
  int64_t depth = 0;    // of q and k
  int64_t depth_v = 0;  // of v and o
  int products = 1;     // calls of product_nt
  int sums = 1;         // outputs in registers, each with one call of accumulate
};

/// The tile of one workgroup (tile.glsl).
struct TileShape {
  std::vector<uint32_t> constants;  // specialization constants 0..4
  int64_t rows = 0;                 // of a workgroup
  int64_t loops_per_tile = 0;       // CPU path only: iterations of all loops per column tile
};

/// The largest tile whose outputs stay in registers, but no more rows than `rows` needs. Results do
/// not depend on it.
TileShape tile_shape(const TileWork& work, const DeviceProfile& device, int64_t rows = 64);
/// That of the kernels on matrix units (tile_split.glsl).
TileShape split_tile_shape(const TileWork& work);

/// Column tiles over a whole segment of `rows` rows on the CPU path.
int64_t cpu_column_tiles(int64_t rows);

/// lavapipe ends all loops of an invocation silently after 65,534 iterations in total.
inline constexpr int64_t kCpuLoopLimit = 65000;

}  // namespace lemnos
