#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct DropoutParams {
  uvec2 x;
  uvec2 rows;
  uvec2 step;
  uvec2 y;
  uint count;
  uint width;
  uint blocks;
  uint site;
  uint threshold;
  float scale;
};
LEMNOS_PARAMS_END
