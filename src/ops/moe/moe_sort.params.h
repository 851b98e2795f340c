#include "ops/params.h"

LEMNOS_PARAMS_BEGIN
// counts: [blocks][experts], then one row of totals.
struct MoeSortParams {
  uvec2 experts;
  uvec2 counts;
  uvec2 order;
  uvec2 offsets;
  uvec2 rows;
  uint slots;
  uint expert_count;
  uint k;
  uint blocks;
};
LEMNOS_PARAMS_END
