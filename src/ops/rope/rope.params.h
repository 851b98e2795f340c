#include "ops/params.h"

// Counts are in units of one load: 4 floats in the variant `vec4`, 1 in `scalar`.
LEMNOS_PARAMS_BEGIN
struct RopeParams {
  uvec2 x;
  uvec2 positions;
  uvec2 cos;
  uvec2 sin;
  uvec2 y;
  uint count;
  uint heads;
  uint head_units;
  uint half_units;
  float sign;
};
LEMNOS_PARAMS_END
