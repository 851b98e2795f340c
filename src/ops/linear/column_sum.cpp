#include "base/error.h"
#include "ops/linear/column_sum.params.h"
#include "ops/linear/gemm.h"

namespace lemnos {
namespace {

/// About as many rows in a block as blocks in a batch of 4096 tokens: both passes are short.
constexpr int64_t kBlockRows = 64;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

KernelCall sum_blocks(int64_t m, int64_t n, int64_t block_rows, BufferRef x, BufferRef y,
                      std::optional<BufferRef> addend) {
  // lavapipe of Mesa 22 stops an invocation's loops after 65,534 rounds.
  LEMNOS_CHECK(m * n < INT64_C(0x7fffffff) && block_rows <= 60000, "column sum of {} x {}", m, n);
  ColumnSumParams params{};
  params.m = static_cast<uint32_t>(m);
  params.n = static_cast<uint32_t>(n);
  params.block_rows = static_cast<uint32_t>(block_rows);
  params.has_addend = addend ? 1 : 0;
  return kernel(
      "column_sum", params, {x, y, addend.value_or(y)},
      {static_cast<uint32_t>(ceil_div(n, 64)), static_cast<uint32_t>(ceil_div(m, block_rows)), 1});
}

}  // namespace

int64_t column_sum_workspace_bytes(int64_t m, int64_t n) {
  return m > kBlockRows ? ceil_div(m, kBlockRows) * n * 4 : 0;
}

std::vector<KernelCall> column_sum(int64_t m, int64_t n, BufferRef x, BufferRef y,
                                   std::optional<BufferRef> addend, BufferRef workspace,
                                   const DeviceProfile&) {
  if (m <= kBlockRows) return {sum_blocks(m, n, m, x, y, addend)};
  const int64_t blocks = ceil_div(m, kBlockRows);
  return {sum_blocks(m, n, kBlockRows, x, workspace, std::nullopt),
          sum_blocks(blocks, n, blocks, workspace, y, addend)};
}

}  // namespace lemnos
