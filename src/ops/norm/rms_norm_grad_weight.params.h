#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct RmsNormGradWeightParams {
  uvec2 dy;
  uvec2 x;
  uvec2 rstd;
  uvec2 partial;
  uint rows;
  uint width;
  uint chunk;
  uint blocks;
};
LEMNOS_PARAMS_END
