#include "ops/linear/gemm.h"

#include <algorithm>

#include "base/error.h"
#include "ops/linear/gemm.params.h"
#include "ops/linear/gemm_reduce.params.h"
#include "ops/linear/gemm_tiles.h"

namespace lemnos {
namespace {

constexpr int64_t kChunk = 64;
enum Grouping : uint32_t { kNone = 0, kRows = 1, kReduction = 2 };

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
uint32_t u32(int64_t value) {
  LEMNOS_CHECK(value >= 0 && value <= INT64_C(0xffffffff), "{} does not fit 32 bits", value);
  return static_cast<uint32_t>(value);
}

Grouping grouping(const GemmCall& call) {
  if (!call.offsets) return kNone;
  return call.layout == GemmLayout::tn ? kReduction : kRows;
}

/// Shaders index elements with 31 bits.
void check_extent(const char* what, int64_t rows, int64_t columns, int64_t row_stride) {
  LEMNOS_CHECK(row_stride >= columns, "{}: rows of {} at a stride of {}", what, columns,
               row_stride);
  LEMNOS_CHECK(rows * row_stride < INT64_C(0x7fffffff), "{}: {} rows at a stride of {}", what, rows,
               row_stride);
}

bool aligned(const std::optional<BufferRef>& ref) { return !ref || ref->byte_offset % 16 == 0; }

void check_low_rank(const GemmCall& call) {
  LEMNOS_CHECK(call.low_a.has_value() == (call.rank > 0) && call.low_b.has_value() == (call.rank > 0));
  LEMNOS_CHECK(call.rank == 0 || (call.split_precision && !call.offsets && call.layout != GemmLayout::tn),
               "a product of low rank added to one that cannot");
  LEMNOS_CHECK(call.rank % 4 == 0 && (call.rank == 0 || call.n % 4 == 0) && aligned(call.low_a) && aligned(call.low_b),
               "a low rank of {}, {} columns", call.rank, call.n);
}

void check(const GemmCall& call) {
  LEMNOS_CHECK(call.m > 0 && call.n > 0 && call.k > 0, "gemm {}x{}x{}", call.m, call.n, call.k);
  const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
  check_extent("gemm A", tn ? call.k : call.m, tn ? call.m : call.k, call.row_stride_a);
  check_extent("gemm B", nt ? call.n : call.k, nt ? call.k : call.n, call.row_stride_b);
  check_extent("gemm C", call.m, call.n, call.row_stride_c);
  LEMNOS_CHECK(call.b_dtype != DType::i32);
  LEMNOS_CHECK(!call.offsets || call.groups > 0, "a grouped gemm of {} groups", call.groups);
  check_low_rank(call);
  LEMNOS_CHECK(call.a.byte_offset % 4 == 0 && call.b.byte_offset % 4 == 0 &&
               call.c.byte_offset % 4 == 0);
}

bool multiples_of(int64_t size, std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(), [=](int64_t value) { return value % size == 0; });
}
bool multiple_of_4(std::initializer_list<int64_t> values) { return multiples_of(4, values); }

/// Whether the kernels may move four neighbours at once (the split kernel eight of 16 bits): the row starts
/// must be aligned and no group may cross the edge. Values start at multiples of 16 bytes.
struct Vectors {
  explicit Vectors(const GemmCall& call) {
    const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
    a = aligned(call.a) && multiple_of_4({call.row_stride_a, tn ? call.m : call.k});
    b = aligned(call.b) &&
        multiples_of(call.split_precision && call.b_dtype != DType::f32 ? 8 : 4,
                     {call.row_stride_b, nt ? call.k : call.n, call.group_stride});
    c = aligned(call.c) && aligned(call.addend) &&
        multiple_of_4({call.row_stride_c, call.n, call.group_stride});
  }
  bool a, b, c;
};

GemmParams params_of(const GemmCall& call) {
  const Grouping grouped = grouping(call);
  GemmParams params{};
  params.m = u32(call.m);
  params.n = u32(call.n);
  params.k = u32(call.k);
  params.row_stride_a = u32(call.row_stride_a);
  params.row_stride_b = u32(call.row_stride_b);
  params.row_stride_c = u32(call.row_stride_c);
  params.scale = call.scale;
  params.has_bias = call.bias ? 1 : 0;
  params.chunks_per_split = u32(ceil_div(call.k, kChunk));
  params.groups = u32(call.groups);
  params.group_bytes_b = grouped == kRows ? u32(call.group_stride * byte_size(call.b_dtype)) : 0;
  params.z_bytes_c = grouped == kReduction ? u32(call.group_stride * 4) : 0;
  return params;
}

struct Tiling {
  std::string shader;  // with its variant
  uint32_t rows, columns;
  std::vector<uint32_t> constants;
  bool short_last_step;  // the kernel's own rule for K_TAIL
  bool adds_splits = false;
  std::vector<TexelInput> texels = {};
};

/// A and B as texel buffers for the CPU kernel, which uses them where they are of use and not too large.
struct Texels {
  std::vector<TexelInput> inputs;
  bool used = false;
};

Texels texels_of(const GemmCall& call) {
  const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
  const bool words = call.b_dtype != DType::f32;
  const Vectors vec(call);
  const int64_t rows_b = nt ? call.n : call.k, groups_b = grouping(call) == kRows ? call.groups : 1;
  const int64_t bytes_a = (tn ? call.k : call.m) * call.row_stride_a * 4;
  const int64_t bytes_b = std::max(rows_b * call.row_stride_b, groups_b * call.group_stride) * byte_size(call.b_dtype);
  const bool used = bytes_a / 16 <= kMostTexels && bytes_b / (words ? 8 : 16) <= kMostTexels;
  const auto input = [used](const BufferRef& ref, int64_t bytes, bool vectors, bool two) -> TexelInput {
    const bool whole = used && vectors;
    return {{ref.value, whole ? ref.byte_offset : 0}, whole ? bytes : 16, two};
  };
  return {{input(call.a, bytes_a, vec.a, false), input(call.b, bytes_b, vec.b, words)}, used};
}

KernelCall product(const GemmCall& call, const GemmParams& params, int64_t splits,
                   const Tiling& tiling) {
  const Grouping grouped = grouping(call);
  const Vectors vec(call);
  std::vector<uint32_t> constants = {static_cast<uint32_t>(call.layout),
                                     grouped,
                                     vec.a,
                                     vec.b,
                                     vec.c,
                                     tiling.short_last_step || grouped == kReduction,
                                     call.addend.has_value()};
  constants.insert(constants.end(), tiling.constants.begin(), tiling.constants.end());
  const int64_t row_tiles =
      grouped == kRows ? call.m / tiling.rows + call.groups : ceil_div(call.m, tiling.rows);
  const int64_t column_tiles = ceil_div(call.n, tiling.columns);
  const int64_t copies = grouped == kReduction ? call.groups : splits;
  LEMNOS_CHECK(row_tiles <= 65535 && column_tiles <= 65535 && copies <= 65535, "gemm {}x{}x{}",
               call.m, call.n, call.k);
  KernelCall made = kernel(tiling.shader, params,
                {call.a, call.b, call.c, call.bias.value_or(call.c), call.addend.value_or(call.c),
                 call.offsets.value_or(call.c), call.largest_a.value_or(call.c), call.largest_b.value_or(call.c),
                 call.low_a.value_or(call.c), call.low_b.value_or(call.c)},
                {u32(row_tiles), u32(column_tiles), u32(copies)}, std::move(constants));
  made.texels = tiling.texels;
  return made;
}

KernelCall reduce(const GemmCall& call, BufferRef partial, int64_t splits) {
  GemmReduceParams params{};
  params.m = u32(call.m);
  params.n = u32(call.n);
  params.row_stride_c = u32(call.row_stride_c);
  params.splits = u32(splits);
  params.scale = call.rank > 0 ? 1.0f : call.scale;  // what has a low rank has been added, scaled
  params.has_bias = call.bias ? 1 : 0;
  params.has_addend = call.addend ? 1 : 0;
  LEMNOS_CHECK(splits * call.m * call.n < INT64_C(0x7fffffff), "gemm {}x{}x{} in {} splits", call.m,
               call.n, call.k, splits);
  const bool vec = Vectors(call).c && aligned(call.workspace) && aligned(call.bias);
  return kernel("gemm_reduce", params,
                {partial, call.c, call.bias.value_or(call.c), call.addend.value_or(call.c)},
                flat_groups(vec ? call.m * call.n / 4 : call.m * call.n, 64), {vec});
}

/// Each split writes its own plain product into the workspace; the epilogue follows in `reduce`.
std::vector<KernelCall> split_product(const GemmCall& call, int64_t splits, const Tiling& tiling) {
  LEMNOS_CHECK(call.workspace.has_value(), "gemm {}x{}x{} needs a workspace", call.m, call.n,
               call.k);
  GemmCall part = call;
  part.c = *call.workspace;
  part.row_stride_c = call.n;
  if (call.rank == 0) part.scale = 1.0f;
  part.bias.reset();
  part.addend.reset();
  GemmParams params = params_of(part);
  params.chunks_per_split = u32(ceil_div(ceil_div(call.k, kChunk), splits));
  params.z_bytes_c = u32(call.m * call.n * 4);
  return {product(part, params, splits, tiling), reduce(call, *call.workspace, splits)};
}

std::vector<KernelCall> gemm_tiled(const GemmCall& call, const Tiling& tiling, int64_t splits) {
  check(call);
  if (splits > 1 && !tiling.adds_splits) return split_product(call, splits, tiling);
  GemmParams params = params_of(call);
  params.chunks_per_split = u32(ceil_div(ceil_div(call.k, kChunk), splits));
  return {product(call, params, 1, tiling)};
}

Tiling tiling_of(const GemmCall& call, const GemmTile& tile) {
  const uint32_t along_m = tile.bm / tile.rm, along_n = tile.bn / tile.rn;
  LEMNOS_CHECK(along_m % tile.lm == 0 && along_n % (32 / tile.lm) == 0 &&
                   (along_m % 8 == 0 || tile.rm == 4) && (along_n % 8 == 0 || tile.rn == 4),
               "gemm tile {}x{} of {}x{}", tile.bm, tile.bn, tile.rm, tile.rn);
  LEMNOS_CHECK(tile.bm * tile.bk / 4 % tile.threads() == 0 &&
                   tile.bn * tile.bk / 4 % tile.threads() == 0 && kChunk % tile.bk == 0 &&
                   tile.bk % tile.unroll == 0 && tile.rm % tile.fma_rows == 0 &&
                   tile.rn % tile.fma_columns == 0,
               "gemm tile {}x{}x{}", tile.bm, tile.bn, tile.bk);
  LEMNOS_CHECK(tile.buffers == 1 ||
               (tile.buffers == 2 && tile.unroll == tile.bk && call.b_dtype == DType::f32));
  return {format("gemm_gpu.{}{}", name_of(call.b_dtype), tile.buffers == 2 ? ".two" : ""),
          tile.bm,
          tile.bn,
          {tile.threads(), tile.bm, tile.bn, tile.bk, tile.rm, tile.rn, tile.lm, tile.unroll,
           tile.interleaved, tile.quads, tile.fma_rows, tile.fma_columns},
          call.k % tile.bk != 0};
}

Tiling tiling_of(const GemmCall& call, const GemmSplitTile& tile) {
  const uint32_t threads = tile.threads();
  LEMNOS_CHECK(call.largest_a && call.largest_b, "a split gemm without scales");
  LEMNOS_CHECK(tile.bm % tile.wm == 0 && tile.bn % tile.wn == 0 && tile.wm % 16 == 0 && tile.wn % 16 == 0 &&
                   tile.bm * 4 % threads == 0 && tile.bn * 4 % threads == 0,
               "split gemm tile {}x{} of {}x{}", tile.bm, tile.bn, tile.wm, tile.wn);
  return {format("gemm_split.{}", name_of(call.b_dtype)),
          tile.bm,
          tile.bn,
          {threads, tile.bm, tile.bn, tile.wm, tile.wn, u32(call.rank)},
          call.k % 32 != 0};
}

Tiling cpu_tiling_of(const GemmCall& call, int64_t splits) {
  const Vectors vec(call);
  const bool tail = call.k % 4 != 0;
  const bool plain = vec.a && vec.b && vec.c && !tail && grouping(call) != kReduction;
  const GemmCpuTile tile = choose_gemm_cpu_tile(call, plain);
  // Few cores gain nothing from splits beside each other, which cost a pass over memory.
  const bool adds_splits = splits > 1 && call.k <= kLongestSum;
  Texels texels = texels_of(call);
  return {format("gemm_cpu.{}", name_of(call.b_dtype)),
          tile.rows,
          32 * tile.column_blocks,
          {tile.rows, tile.column_blocks, adds_splits, texels.used},
          tail,
          adds_splits,
          std::move(texels.inputs)};
}

}  // namespace

int64_t gemm_workspace_bytes(const GemmCall& call) {
  const int64_t splits = gemm_splits(call);
  return splits > 1 ? splits * call.m * call.n * 4 : 0;
}

std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmTile& tile) {
  return gemm_with_tile(call, tile, gemm_splits(call));
}

std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmTile& tile, int64_t splits) {
  return gemm_tiled(call, tiling_of(call, tile), splits);
}

std::vector<KernelCall> gemm_with_tile(const GemmCall& call, const GemmSplitTile& tile, int64_t splits) {
  return gemm_tiled(call, tiling_of(call, tile), splits);
}

std::vector<KernelCall> gemm(const GemmCall& call, const DeviceProfile& device) {
  const int64_t splits = gemm_splits(call);
  if (call.split_precision) return gemm_with_tile(call, choose_gemm_split_tile(call), splits);
  if (device.cpu_path) return gemm_tiled(call, cpu_tiling_of(call, splits), splits);
  return gemm_with_tile(call, choose_gemm_tile(call, device));
}

}  // namespace lemnos
