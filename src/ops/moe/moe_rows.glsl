// Start of the kernels with MoeRowsParams: one invocation per (row, 4 columns) of y's `count` rows.
#include "ops/glsl/common.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/moe/moe_gather.params.h"

layout(local_size_x = 64) in;
PUSH(MoeRowsParams);

uint columns_by_4() { return (p.width + 3) / 4; }
bool is_inside() { return flat_index() < p.count * columns_by_4(); }
uint row_of() { return flat_index() / columns_by_4(); }
uint column_of() { return 4 * (flat_index() % columns_by_4()); }

vec4 x_at(uint row) { return load4(p.x, row, column_of(), p.width); }
void set_y(vec4 value) { store4(p.y, row_of(), column_of(), p.width, value); }
uint slot_of(uint row) { return uint(I32(p.order).v[row]); }
uint row_of_token(uint token, uint i) { return uint(I32(p.rows).v[token * p.k + i]); }
