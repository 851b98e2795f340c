#include "ops/linear/gemm_tiles.h"

#include <algorithm>

namespace lemnos {
namespace {

constexpr int64_t kChunk = 64;
/// lavapipe of Mesa 22 stops all loops of an invocation after 65,534 rounds; a K step is 4 long.
constexpr int64_t kLongestSum = 196608;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// LLM shapes on an H200: within 4 % of the best tile of each (gpu.md's sweep).
constexpr GemmTile kLarge{128, 128, 32, 8, 8, 4, 32};
// The small ones are quick to compile, which on lavapipe is most of their time.
constexpr GemmTile kMedium{64, 64, 16, 8, 4, 4, 4};
constexpr GemmTile kFewColumns{64, 16, 32, 4, 4, 8, 4};
constexpr GemmTile kFewRows{16, 64, 32, 4, 4, 4, 4};

constexpr GemmTile kCandidates[] = {
    kLarge,
    {128, 128, 32, 8, 8, 8, 32},
    {128, 128, 32, 8, 8, 4, 8},
    {128, 128, 16, 8, 8, 4, 16},
    {128, 128, 16, 8, 16, 4, 16},
    {128, 256, 16, 8, 16, 4, 16},
    {64, 128, 16, 8, 8, 4, 16},
    {128, 64, 16, 8, 8, 4, 16},
    {64, 128, 32, 8, 8, 4, 32},
    {128, 64, 32, 8, 8, 4, 32},
    {64, 64, 32, 8, 8, 4, 32},
    kMedium,
    {64, 64, 16, 8, 4, 4, 16},
    {64, 64, 32, 8, 4, 4, 32},
    kFewColumns,
    {64, 16, 32, 4, 4, 8, 32},
    kFewRows,
    {16, 64, 32, 4, 4, 4, 32},
};

}  // namespace

std::span<const GemmTile> gemm_tile_candidates() { return kCandidates; }

GemmTile choose_gemm_tile(const GemmCall& call, const DeviceProfile& device) {
  if (call.n <= 16) return kFewColumns;
  if (call.m <= 16) return kFewRows;
  constexpr int64_t kFillsTheGpu = 96;  // workgroups
  const int64_t copies =
      std::max<int64_t>(gemm_splits(call), call.layout == GemmLayout::tn ? call.groups : 0);
  const int64_t large = ceil_div(call.m, kLarge.bm) * ceil_div(call.n, kLarge.bn) * copies;
  const bool fits = device.max_shared_bytes >= kLarge.shared_bytes();
  return fits && call.m > 64 && call.n > 64 && large >= kFillsTheGpu ? kLarge : kMedium;
}

GemmCpuTile choose_gemm_cpu_tile(const GemmCall& call, bool plain) {
  if (!plain) return {call.m == 1 ? 1u : 8u, 1};
  const uint32_t column_blocks = call.n <= 32 ? 1 : 2;
  if (call.m == 1) return {1, column_blocks};
  // Time of one tile, in rows of the 24-row one: smaller tiles load more for each product.
  const int64_t with_8 = ceil_div(call.m, 8) * 8 * 19 / 10;
  const int64_t with_24 = ceil_div(call.m, 24) * 24;
  return {with_8 < with_24 ? 8u : 24u, column_blocks};
}

int64_t gemm_splits(const GemmCall& call) {
  if (call.offsets || call.groups > 0) return 1;
  const int64_t chunks = ceil_div(call.k, kChunk);
  int64_t wanted = ceil_div(call.k, kLongestSum);
  if (call.layout == GemmLayout::tn) {
    constexpr int64_t kTilesWanted = 512;
    const int64_t tiles = ceil_div(call.m, 128) * ceil_div(call.n, 128);
    if (call.k >= 1024)
      wanted = std::max(wanted, std::min({kTilesWanted / tiles, chunks / 4, int64_t{16}}));
  } else if (call.n <= 256) {
    wanted = std::max(wanted, std::min<int64_t>(chunks / 4, 8));
  }
  const int64_t chunks_per_split = ceil_div(chunks, std::max<int64_t>(1, wanted));
  return std::max<int64_t>(1, ceil_div(chunks, chunks_per_split));
}

}  // namespace lemnos
