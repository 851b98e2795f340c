#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct FillParams {
  uvec2 y;
  uint count;
  float value;
};
LEMNOS_PARAMS_END
