#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
struct AttentionGradParams {
  uvec2 q;
  uvec2 k;
  uvec2 v;
  uvec2 tiles;
  uvec2 o;
  uvec2 stats;
  uvec2 grad_o;
  uvec2 delta;
  uvec2 grad_q;
  uvec2 grad_k;
  uvec2 grad_v;
  uint heads;
  uint kv_heads;
  uint window;
  float scale;
  uint first_head;  // attention_grad_key: of the heads of each group that this dispatch adds
  uint end_head;
  uint split_rows;  // not 0: workgroup z takes head z of each group alone and writes to the z-th
                    // copy of grad_k and grad_v, which have this many rows each
};
LEMNOS_PARAMS_END
