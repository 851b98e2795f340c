#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct ScaleParams {
  uvec2 x;
  uvec2 y;
  uint count;
  float factor;
};
LEMNOS_PARAMS_END
