#include "ops/attention/tile_shape.h"

#include <algorithm>

#include "ops/attention/tiles.h"

namespace lemnos {
namespace {

constexpr int64_t kCpuColumns = 32;
constexpr int64_t kGpuColumns = 64;
constexpr int64_t kGpuRowGroups = 8;  // rows of a workgroup = 8 * rows of an invocation

int64_t chunks(int64_t depth, int64_t size) { return (depth + size - 1) / size; }

/// Of both paths: the vec4s of outputs that an invocation holds (bench/attention_bench).
/// CPU: 64 (lavapipe, Mesa 22.3.6). GPU: 16, but at most 4 rows, since tiles in flight hide the loads:
/// on an H200 with 4 sequences of 1024 and 14 heads of 64, 4 rows take 0.45 ms forward and 1.35 ms
/// backward, 8 take 0.59 and 1.72, 2 take 0.58 and 1.84.
int64_t rows_in_registers(int64_t vec4s, int64_t per_row, int64_t most) {
  int64_t rows = most;
  while (rows > 1 && rows * per_row > vec4s) rows /= 2;
  return rows;
}

int64_t at_least(int64_t rows, int64_t most) {
  int64_t power = 1;
  while (power < rows && power < most) power *= 2;
  return power;
}

}  // namespace

TileShape tile_shape(const TileWork& work, const DeviceProfile& device, int64_t rows) {
  const int64_t deepest = std::max(work.depth, work.depth_v);
  TileShape shape;
  int64_t invocation_rows = 0, unroll = 1;
  if (device.cpu_path) {
    invocation_rows = rows_in_registers(64, chunks(deepest, kCpuColumns) * work.sums, 32);
    shape.rows = invocation_rows = at_least(rows, invocation_rows);
    while (chunks(deepest, 4 * unroll) > 16) unroll *= 2;
  } else {
    invocation_rows = rows_in_registers(16, chunks(deepest, kGpuColumns) * work.sums, 4);
    invocation_rows = at_least(chunks(rows, kGpuRowGroups), invocation_rows);
    shape.rows = kGpuRowGroups * invocation_rows;
  }
  const bool wide = work.depth % (4 * unroll) == 0 && work.depth_v % (4 * unroll) == 0;
  for (const int64_t value : {invocation_rows, work.depth, work.depth_v, int64_t{wide}, unroll})
    shape.constants.push_back(static_cast<uint32_t>(value));
  if (device.cpu_path)
    shape.loops_per_tile = 1 + work.products * chunks(deepest, 4 * unroll) + 8 * work.sums;
  return shape;
}

TileShape split_tile_shape(const TileWork& work) {
  constexpr int64_t kRows = 4, kUnroll = 1;
  TileShape shape{.rows = 16 * kRows};
  const bool wide = work.depth % 4 == 0 && work.depth_v % 4 == 0;
  const bool hold = std::max(work.depth, work.depth_v) <= 64;  // 8 fragments of each a: more would not stay in registers
  for (const int64_t value : {kRows, work.depth, work.depth_v, int64_t{wide}, kUnroll, int64_t{0}, int64_t{hold}})
    shape.constants.push_back(static_cast<uint32_t>(value));
  return shape;
}

int64_t cpu_column_tiles(int64_t rows) {
  return chunks(std::min(rows, kMaxAttentionSegment), kCpuColumns);
}

}  // namespace lemnos
