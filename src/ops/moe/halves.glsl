// Four columns of half 0 or 1 of a row of [rows, 2 * width]: the halves are rows 2r and 2r + 1 of
// [2 * rows, width].
#include "ops/glsl/rows.glsl"

vec4 load_half(uvec2 matrix, uint row, uint half_index, uint column, uint width) {
  return load4(matrix, 2 * row + half_index, column, width);
}

void store_half(uvec2 matrix, uint row, uint half_index, uint column, uint width, vec4 x) {
  store4(matrix, 2 * row + half_index, column, width, x);
}
