#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AttentionSumHeadsParams {
  uvec2 partials;
  uvec2 y;
  uint count;
  uint heads;
};
LEMNOS_PARAMS_END
