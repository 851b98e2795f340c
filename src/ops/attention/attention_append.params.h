#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AttentionAppendParams {
  uvec2 added;
  uvec2 cache;
  uvec2 cache_length;
  uint count;     // elements of `added`
  uint width;     // elements of a row
  uint capacity;  // rows of the cache
};
LEMNOS_PARAMS_END
