#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct SumPartialsParams {
  uvec2 partial;
  uvec2 addend;
  uvec2 y;
  uint rows;
  uint width;
};
LEMNOS_PARAMS_END
