#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct MoeRouteParams {
  uvec2 logits;
  uvec2 weights;
  uvec2 experts;
  uint rows;
  uint expert_count;
  uint k;
};
struct MoeRouteGradParams {
  uvec2 logits;
  uvec2 weights;
  uvec2 experts;
  uvec2 dweights;
  uvec2 dlogits;
  uint rows;
  uint expert_count;
  uint k;
};
LEMNOS_PARAMS_END
