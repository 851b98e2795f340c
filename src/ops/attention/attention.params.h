#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AttentionParams {
  uvec2 q;
  uvec2 k;
  uvec2 v;
  uvec2 o;
  uvec2 stats;
  uvec2 tiles;  // with CACHED: one integer, the tokens already in the cache
  uint heads;
  uint kv_heads;
  uint rows;    // with CACHED: of q
  uint window;  // queries that see a key
  float scale;
};
LEMNOS_PARAMS_END
