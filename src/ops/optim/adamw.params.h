#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AdamWParams {
  uvec2 param;
  uvec2 grad;
  uvec2 m;
  uvec2 v;
  uvec2 new_param;
  uvec2 new_m;
  uvec2 new_v;
  uvec2 clip_coef;
  uvec2 step;
  uint count;
  uint decay;
};
LEMNOS_PARAMS_END
