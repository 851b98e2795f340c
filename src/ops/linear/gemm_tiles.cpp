#include "ops/linear/gemm_tiles.h"

#include <algorithm>
#include <span>

namespace lemnos {
namespace {

constexpr int64_t kChunk = 64;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct RatedTile {
  GemmTile tile;
  double rate;  // TFLOP/s of a product that it divides and that fills the GPU
};

// NVIDIA H200, `gemm_bench --sweep`. Add a layout's tiles here; choose_gemm_tile weighs them.
constexpr RatedTile kTilesNn[] = {
    {{128, 128, 32, 8, 8, 4, 32, true, true, 1, 2, 4}, 44.2},
    {{64, 128, 16, 8, 8, 4, 16, true, false, 1, 1, 8}, 43.5},
    {{64, 64, 16, 8, 4, 4, 16, true, false, 2, 4, 2}, 42.5},
    {{64, 64, 32, 8, 4, 4, 32, true, true}, 38.0},
    {{32, 64, 32, 4, 4, 4, 32, true}, 26.0},
    {{64, 16, 32, 4, 4, 8, 32, true}, 23.0},
    {{16, 64, 32, 4, 4, 4, 32, true}, 25.3},
};
constexpr RatedTile kTilesNt[] = {
    {{128, 128, 32, 8, 8, 4, 32, true, true, 1, 2, 4}, 44.0},
    {{64, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 2}, 43.0},
    {{64, 64, 16, 8, 4, 4, 16, true, false, 2, 8, 1}, 41.5},
    {{64, 64, 32, 8, 4, 4, 32, true, true}, 37.0},
    {{32, 64, 32, 4, 4, 4, 32, true}, 24.0},
    {{64, 16, 32, 4, 4, 8, 32, true}, 19.4},
    {{16, 64, 32, 4, 4, 4, 32, true}, 22.7},
};
constexpr RatedTile kTilesTn[] = {
    {{128, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 2}, 45.0},
    {{64, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 1}, 44.0},
    {{128, 64, 16, 8, 8, 4, 16, true, false, 1, 8, 1}, 44.0},
    {{64, 64, 16, 8, 4, 4, 16, true, false, 2, 4, 2}, 41.0},
    {{64, 16, 16, 4, 4, 8, 16, true}, 26.0},
    {{16, 64, 16, 4, 4, 4, 16, true}, 25.8},
};

std::span<const RatedTile> tiles_of(GemmLayout layout) {
  if (layout == GemmLayout::nn) return kTilesNn;
  if (layout == GemmLayout::nt) return kTilesNt;
  return kTilesTn;
}

/// For a processor that runs the GPU kernel, which spends most of its time on compiling.
constexpr GemmTile kQuickTile{32, 32, 8, 4, 4, 8, 4};

template <typename Tile>
int64_t workgroups(const GemmCall& call, const Tile& tile) {
  const bool rows_grouped = call.offsets && call.layout != GemmLayout::tn;
  const int64_t copies = call.offsets && !rows_grouped ? call.groups : gemm_splits(call);
  const int64_t along_m = rows_grouped ? call.m / tile.bm + call.groups : ceil_div(call.m, tile.bm);
  return along_m * ceil_div(call.n, tile.bn) * copies;
}

/// Time of the busiest processor, in workgroups that share it with enough others.
double busiest(int64_t groups, int64_t threads) {
  constexpr int64_t kProcessors = 132;  // an H200's
  constexpr int64_t kThreadsToFill = 256;
  const int64_t on_one = ceil_div(groups, kProcessors);
  const int64_t together = std::max<int64_t>(1, kThreadsToFill / threads), rest = on_one % together;
  if (rest == 0) return static_cast<double>(on_one);
  const double filled = static_cast<double>(rest * threads) / kThreadsToFill;
  return static_cast<double>(on_one - rest) + static_cast<double>(rest) * (0.5 + 0.5 / filled);
}

template <typename Tile>
double expected_time(const GemmCall& call, const Tile& tile, double rate) {
  return busiest(workgroups(call, tile), tile.threads()) * tile.bm * tile.bn * static_cast<double>(call.k) / rate;
}

double expected_time(const GemmCall& call, const RatedTile& rated) {
  const double padded_k = static_cast<double>(ceil_div(call.k, rated.tile.bk) * rated.tile.bk);
  return expected_time(call, rated.tile, rated.rate) * padded_k / static_cast<double>(call.k);
}

/// What a sweep asks: which tile, how to store, one buffer or two, the order of the products.
constexpr GemmTile kCandidates[] = {
    {128, 128, 32, 8, 8, 4, 32, true, true, 1, 2, 4},
    {128, 128, 32, 8, 8, 4, 32, true, true, 1, 4, 4},
    {128, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 2},
    {128, 128, 16, 8, 8, 4, 16, true, false, 2, 4, 2},
    {128, 256, 16, 8, 16, 4, 16, true, false, 1, 8, 2},
    {64, 128, 16, 8, 8, 4, 16, true, false, 1, 1, 8},
    {64, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 1},
    {64, 128, 16, 8, 8, 4, 16, true, false, 1, 8, 2},
    {64, 128, 32, 8, 8, 4, 32, true, true, 1, 2, 4},
    {128, 64, 16, 8, 8, 4, 16, true, false, 1, 8, 1},
    {128, 64, 16, 8, 8, 4, 16, true, false, 1, 2, 4},
    {64, 64, 16, 8, 4, 4, 16, true, false, 2, 8, 1},
    {64, 64, 16, 8, 4, 4, 16, true, false, 2, 4, 2},
    {64, 64, 32, 8, 4, 4, 32, true, true},
    {32, 64, 32, 4, 4, 4, 32, true},
    {64, 32, 32, 4, 4, 8, 32, true},
    {64, 16, 32, 4, 4, 8, 32, true},
    {64, 16, 16, 4, 4, 8, 16, true},
    {16, 64, 32, 4, 4, 4, 32, true},
    {16, 64, 16, 4, 4, 4, 16, true},
};

}  // namespace

std::vector<GemmTile> gemm_tile_candidates(const GemmCall& call, const DeviceProfile& device) {
  const int64_t work = call.m * call.n;
  std::vector<GemmTile> chosen;
  for (const GemmTile& tile : kCandidates) {
    const int64_t padded =
        ceil_div(call.m, tile.bm) * tile.bm * ceil_div(call.n, tile.bn) * tile.bn;
    const bool fits = tile.shared_bytes() <= device.max_shared_bytes &&
                      (tile.buffers == 1 || call.b_dtype == DType::f32);
    const bool too_small = tile.bm * tile.bn < 4096 && work >= INT64_C(1) << 19;
    const bool too_large = tile.bm * tile.bn >= 16384 && work < INT64_C(1) << 17;
    if (fits && padded * 2 <= work * 3 && !too_small && !too_large) chosen.push_back(tile);
  }
  if (chosen.empty()) chosen.push_back(choose_gemm_tile(call, device));
  return chosen;
}

GemmTile choose_gemm_tile(const GemmCall& call, const DeviceProfile& device) {
  if (device.is_cpu) return kQuickTile;
  const std::span<const RatedTile> tiles = tiles_of(call.layout);
  const RatedTile* best = nullptr;
  for (const RatedTile& rated : tiles)
    if (rated.tile.shared_bytes() <= device.max_shared_bytes &&
        (rated.tile.buffers == 1 || call.b_dtype == DType::f32) &&  // no 16-bit shader has two
        (best == nullptr || expected_time(call, rated) < expected_time(call, *best)))
      best = &rated;
  return best != nullptr ? best->tile : kQuickTile;
}

std::vector<GemmSplitTile> gemm_split_tile_candidates() {
  return {{128, 128, 32, 32}, {128, 128, 32, 64}, {128, 128, 64, 32}, {64, 128, 32, 32}, {128, 64, 32, 32},
          {64, 64, 32, 32},   {64, 128, 32, 64},  {128, 64, 64, 32},  {128, 128, 64, 64}, {64, 64, 16, 32}};
}

GemmSplitTile choose_gemm_split_tile(const GemmCall& call) {
  const GemmSplitTile whole = call.layout == GemmLayout::nt ? GemmSplitTile{128, 128, 64, 32} : GemmSplitTile{128, 128, 32, 64};
  const GemmSplitTile quarter{64, 64, 32, 32};
  // TFLOP/s of a large product, H200, `gemm_bench --sweep --gemm split`.
  return expected_time(call, whole, 97) <= expected_time(call, quarter, 68) ? whole : quarter;
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

namespace {

/// nn and nt: enough workgroups of 128 columns for each 128 rows. 28 of 7 give an H200 whole rounds
/// of 64-row tiles at any number of rows.
int64_t splits_of_row_products(int64_t n, int64_t k, bool split_precision) {
  const int64_t chunks = ceil_div(k, kChunk), column_tiles = ceil_div(n, 128);
  if (n <= 256) return std::min<int64_t>(chunks / 2, 8);
  if (k >= 32768) return std::min(196 / column_tiles, chunks / 64);
  if (k >= 4096) return std::min((split_precision ? 28 : 49) / column_tiles, chunks / 8);
  return 1;
}

/// tn: K is the tokens, C a weight.
int64_t splits_of_weight_gradients(int64_t m, int64_t n, int64_t k, bool split_precision) {
  const int64_t chunks = ceil_div(k, kChunk), tiles = ceil_div(m, 128) * ceil_div(n, 128);
  const bool skinny = std::min(m, n) <= 64;  // LoRA's
  const int64_t most = tiles < 32 ? 16 : skinny ? 12 : tiles < 128 ? 8 : split_precision ? 3 : 7;
  if (k >= 1024 && tiles <= 400) return std::min(chunks / 4, most);
  if (k >= 256 && tiles > 16 && skinny) return std::min<int64_t>(chunks / 2, 3);
  if (k >= 256 && tiles <= 16) return std::min(49 / tiles, chunks / 2);
  return 1;
}

}  // namespace

int64_t gemm_splits(const GemmCall& call) {
  if (call.offsets || call.groups > 0) return 1;
  const int64_t chunks = ceil_div(call.k, kChunk);
  const int64_t wanted = call.layout == GemmLayout::tn
                             ? splits_of_weight_gradients(call.m, call.n, call.k, call.split_precision)
                             : splits_of_row_products(call.n, call.k, call.split_precision);
  const int64_t splits = std::max({wanted, ceil_div(call.k, kLongestSum), int64_t{1}});
  return ceil_div(chunks, ceil_div(chunks, splits));
}

}  // namespace lemnos
