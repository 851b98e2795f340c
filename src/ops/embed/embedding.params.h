#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct EmbeddingParams {
  uvec2 weight;
  uvec2 ids;
  uvec2 y;
  uint count;
  uint width;
  uint blocks;
};
LEMNOS_PARAMS_END
