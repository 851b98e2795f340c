#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct CrossEntropyParams {
  uvec2 logits;
  uvec2 targets;
  uvec2 step;
  uvec2 dlogits;
  uvec2 losses;
  uint rows;
  uint columns;
  float softcap;
};
LEMNOS_PARAMS_END
