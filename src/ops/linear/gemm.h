#pragma once

#include <optional>
#include <vector>

#include "graph/kernel_call.h"

namespace lemnos {

/// C[m,n] = scale * op(A, B) + bias[n] + addend[m,n]
///   nn: A[m,k] B[k,n]     nt: A[m,k] B[n,k]^T (Linear forward)     tn: A[k,m]^T B[k,n] (weight gradient)
/// Row-major; row strides in elements. Accumulates in f32, in K-chunks whose order is a function of
/// (layout, k, n) only: not of m, of the tile or of the device's tuning.
enum class GemmLayout : uint8_t { nn, nt, tn };

struct GemmCall {
  GemmLayout layout = GemmLayout::nt;
  int64_t m = 0, n = 0, k = 0;
  BufferRef a, b, c;
  int64_t row_stride_a = 0, row_stride_b = 0, row_stride_c = 0;
  DType b_dtype = DType::f32;  // f32, f16 or bf16 (a frozen weight, widened exactly in the load)
  float scale = 1.0f;
  std::optional<BufferRef> bias;
  std::optional<BufferRef> addend;  // may be c itself; row stride as c's
  std::optional<BufferRef> workspace;
  /// The split-precision kernel on matrix units (gemm_split.comp). It takes its scales from the largest magnitudes in
  /// each row of op(A), f32 [m], and in each column of op(B), f32 [n], or bounds of them (see largest_magnitudes).
  bool split_precision = false;
  std::optional<BufferRef> largest_a, largest_b;
  /// C = A B + scale * (low_a low_b) + ..., LoRA's part, in plain FMA: low_a [m, rank], low_b as B in the same layout
  /// (nn [rank, n], nt [n, rank]), both f32 without gaps. In split precision, not grouped.
  std::optional<BufferRef> low_a, low_b;
  int64_t rank = 0;

  /// Grouped (mixture of experts): `offsets` is an i32 buffer of groups+1 row indices. For nn and nt
  /// rows [offsets[g], offsets[g+1]) of A and C (m = the worst case, all rows) use B at
  /// b + g * group_stride elements. For tn those rows are the reduction range (k = all rows) and the
  /// result goes to c (and comes from addend) + g * group_stride; an empty group gives zeros.
  std::optional<BufferRef> offsets;
  int64_t groups = 0;
  int64_t group_stride = 0;
};

/// Bytes of scratch memory the call needs in `workspace` (split-K); a function of layout, n, k, m
/// and groups only. Zero: none.
int64_t gemm_workspace_bytes(const GemmCall& call);

std::vector<KernelCall> gemm(const GemmCall& call, const DeviceProfile& device);

/// of_rows[i] = max over j of |x[i,j]|, of_columns[j] = max over i of |x[i,j]|, x [m,n] without gaps. For devices that
/// have the split kernel.
std::vector<KernelCall> largest_magnitudes(int64_t m, int64_t n, DType dtype, BufferRef x, BufferRef of_rows,
                                           BufferRef of_columns);

/// y[n] = sum over m of x[m,n], plus addend[n] when given (bias gradients). Fixed order.
std::vector<KernelCall> column_sum(int64_t m, int64_t n, BufferRef x, BufferRef y,
                                   std::optional<BufferRef> addend, BufferRef workspace,
                                   const DeviceProfile& device);
int64_t column_sum_workspace_bytes(int64_t m, int64_t n);

}  // namespace lemnos
