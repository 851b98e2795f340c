#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct LargestParams {
  uvec2 x;
  uvec2 of_rows;
  uvec2 of_columns;
  uint rows;
  uint columns;
  uint rows_of_group;  // a multiple of 32
};
LEMNOS_PARAMS_END
