#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct RmsNormGradInputParams {
  uvec2 dy;
  uvec2 x;
  uvec2 weight;
  uvec2 rstd;
  uvec2 addend;
  uvec2 dx;
  uint rows;
  uint width;
};
LEMNOS_PARAMS_END
