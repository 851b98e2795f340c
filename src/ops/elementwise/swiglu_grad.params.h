#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct SwigluGradParams {
  uvec2 dy;
  uvec2 gate;
  uvec2 up;
  uvec2 dgate;
  uvec2 dup;
  uint count;
};
LEMNOS_PARAMS_END
