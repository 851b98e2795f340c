#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct GemmReduceParams {
  uvec2 partial;
  uvec2 c;
  uvec2 bias;
  uvec2 addend;
  uint m;
  uint n;
  uint row_stride_c;
  uint splits;
  float scale;
  uint has_bias;
  uint has_addend;
};
LEMNOS_PARAMS_END
