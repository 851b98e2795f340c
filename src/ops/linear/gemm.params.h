#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct GemmParams {
  uvec2 a;
  uvec2 b;
  uvec2 c;
  uvec2 bias;
  uvec2 addend;
  uvec2 offsets;
  uvec2 largest_a;  // split precision: the largest magnitude in each row of op(A)
  uvec2 largest_b;  // in each column of op(B)
  uvec2 low_a;      // split precision: a product of low rank that is added (split_low_rank.glsl)
  uvec2 low_b;
  uint m;
  uint n;
  uint k;
  uint row_stride_a;  // elements
  uint row_stride_b;
  uint row_stride_c;
  float scale;  // of the product of low rank where there is one, else of A B
  uint has_bias;
  uint chunks_per_split;
  uint groups;
  uint group_bytes_b;  // grouped rows: from one group's B to the next
  uint z_bytes_c;      // from one split's or one group's C (and addend) to the next
};
LEMNOS_PARAMS_END
