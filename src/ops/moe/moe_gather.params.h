#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
// Kernels that move rows of `width` elements between tokens and expert rows. Which tensors x, y and
// weights are is said in each kernel.
struct MoeRowsParams {
  uvec2 x;
  uvec2 y;
  uvec2 weights;
  uvec2 order;
  uvec2 rows;
  uint count;
  uint width;
  uint k;
};
// dweights[order[r]] = dot(ys[r], dy[order[r] / k])
struct MoeWeightGradParams {
  uvec2 ys;
  uvec2 dy;
  uvec2 order;
  uvec2 dweights;
  uint count;
  uint width;
  uint k;
};
LEMNOS_PARAMS_END
