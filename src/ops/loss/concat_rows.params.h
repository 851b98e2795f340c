#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct ConcatRowsParams {
  uvec2 x;
  uvec2 y;
  uint count;
};
LEMNOS_PARAMS_END
