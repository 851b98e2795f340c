#pragma once

#include <vector>

#include "ops/moe/moe_gather.params.h"
#include "ops/rows.h"

namespace lemnos {

/// The call of a kernel of moe_rows.glsl that makes the rows of `y`; buffers x, y, weights, order,
/// rows, of which a kernel may leave some untouched.
inline KernelCall moe_rows_call(const char* shader, const Shape& y, int64_t k,
                                std::vector<BufferRef> buffers) {
  MoeRowsParams params{};
  params.count = kernel_count(y[0]);
  params.width = kernel_count(y[1]);
  params.k = kernel_count(k);
  kernel_count(y);
  return kernel(shader, params, std::move(buffers), flat_groups(y[0] * ((y[1] + 3) / 4), 64),
                {0, width_by_4(y[1])});
}

}  // namespace lemnos
