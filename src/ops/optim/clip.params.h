#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct SquareSumParams {
  uvec2 x;
  uvec2 partials;
  uint count;
  uint first_partial;
};
struct ClipParams {
  uvec2 partials;
  uvec2 step;
  uvec2 norm;
  uvec2 coef;
  uint count;
};
LEMNOS_PARAMS_END
