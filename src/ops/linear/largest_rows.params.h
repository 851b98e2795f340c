#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct LargestRowsParams {
  uvec2 x;
  uvec2 of_rows;
  uint rows;
  uint width;
};
LEMNOS_PARAMS_END
