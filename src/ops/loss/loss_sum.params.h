#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct LossSumParams {
  uvec2 losses;
  uvec2 sum;
  uvec2 new_sum;
  uint count;
};
LEMNOS_PARAMS_END
