#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct SwigluParams {
  uvec2 gate;
  uvec2 up;
  uvec2 y;
  uint count;
};
LEMNOS_PARAMS_END
