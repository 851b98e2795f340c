#pragma once

#include <cstdio>
#include <string>

#include "base/error.h"
#include "device_buffers.h"
#include "ops/linear/gemm.h"

// One product as the GEMM benchmarks name it: layout "nn", "nt" or "tn", size "M,N,K".
namespace lemnos {

inline GemmCall call_of(const std::string& layout, const std::string& size) {
  GemmCall call{layout == "nn" ? GemmLayout::nn : layout == "nt" ? GemmLayout::nt : GemmLayout::tn};
  char rest = 0;
  if (std::sscanf(size.c_str(), "%ld,%ld,%ld%c", &call.m, &call.n, &call.k, &rest) != 3)
    fail(ErrorKind::usage, "--size takes M,N,K, got \"{}\"", size);
  return call;
}

/// Makes the call one of split precision: its scales' buffers, and the kernels that fill them, run once.
inline std::vector<KernelCall> add_largest(GemmCall& call, DeviceBuffers& buffers) {
  const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
  const int64_t rows_a = tn ? call.k : call.m, rows_b = nt ? call.n : call.k;
  const BufferRef rows[] = {buffers.add(rows_a * 4), buffers.add(rows_b * 4)};
  const BufferRef columns[] = {buffers.add(call.row_stride_a * 4), buffers.add(call.row_stride_b * 4)};
  call.split_precision = true;
  call.largest_a = tn ? columns[0] : rows[0];
  call.largest_b = nt ? rows[1] : columns[1];
  std::vector<KernelCall> calls =
      largest_magnitudes(rows_a, call.row_stride_a, DType::f32, call.a, rows[0], columns[0]);
  for (KernelCall& kernel :
       largest_magnitudes(rows_b, call.row_stride_b, call.b_dtype, call.b, rows[1], columns[1]))
    calls.push_back(std::move(kernel));
  buffers.run(calls);
  return calls;
}

}  // namespace lemnos
