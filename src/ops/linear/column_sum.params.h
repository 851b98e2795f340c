#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct ColumnSumParams {
  uvec2 x;
  uvec2 y;
  uvec2 addend;
  uint m;
  uint n;
  uint block_rows;
  uint has_addend;
};
LEMNOS_PARAMS_END
