#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct EmbeddingGradParams {
  uvec2 dy;
  uvec2 order;
  uvec2 runs;
  uvec2 sum;
  uint run_count;
  uint width;
  uint blocks;
  int padding_idx;
};
LEMNOS_PARAMS_END
