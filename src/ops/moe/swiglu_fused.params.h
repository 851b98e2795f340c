#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct SwigluFusedParams {
  uvec2 gate_up;
  uvec2 y;
  uint rows;
  uint width;
};
struct SwigluFusedGradParams {
  uvec2 gate_up;
  uvec2 dy;
  uvec2 dgate_up;
  uint rows;
  uint width;
};
LEMNOS_PARAMS_END
