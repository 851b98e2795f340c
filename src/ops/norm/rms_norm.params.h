#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct RmsNormParams {
  uvec2 x;
  uvec2 weight;
  uvec2 y;
  uvec2 rstd;
  uint rows;
  uint width;
  float eps;
};
LEMNOS_PARAMS_END
