#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AddParams {
  uvec2 x;
  uvec2 y;
  uvec2 z;
  uint count;
};
LEMNOS_PARAMS_END
