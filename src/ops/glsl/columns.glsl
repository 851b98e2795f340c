// Sums down the columns of a matrix, in one fixed order per path. A workgroup owns
// kColumnsPerGroup columns, 4 per column lane.
//   CPU path: 8 column lanes; a lane adds all rows, ascending.
//   GPU path: 32 column lanes x 8 row lanes; row lane k adds rows k, k+8, ..., then a shared-memory
//             tree over 4, 2, 1.
// Sums carry their rounding errors along, as in reduce.glsl.
#ifdef CPU_PATH
const uint kColumnLanes = 8;
const uint kRowSteps = 1;
layout(local_size_x = 8) in;
#else
const uint kColumnLanes = 32;
const uint kRowSteps = 8;
layout(local_size_x = 256) in;
shared vec4 columns_value[kColumnLanes * kRowSteps];
shared vec4 columns_error[kColumnLanes * kRowSteps];
#endif
const uint kColumnsPerGroup = 4 * kColumnLanes;

// A lane adds the rows first_row(), first_row() + kRowSteps, ...
uint first_row() { return gl_LocalInvocationID.x / kColumnLanes; }

// Workgroups are numbered over a 2-D grid (see flat_groups): `blocks` column blocks, then rows.
uint flat_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

uint column_of(uint block) {
  return block * kColumnsPerGroup + 4 * (gl_LocalInvocationID.x % kColumnLanes);
}

struct Sum4 {
  vec4 value;
  vec4 error;
};

Sum4 sum_add(Sum4 s, vec4 x) {
  precise vec4 t = s.value + x;
  precise vec4 taken = t - s.value;
  precise vec4 lost = (s.value - (t - taken)) + (x - taken);
  precise vec4 error = s.error + lost;
  return Sum4(t, error);
}

vec4 sum_result(Sum4 s) {
  precise vec4 y = s.value + s.error;
  return mix(y, s.value, equal(floatBitsToUint(s.value) & 0x7f800000u, uvec4(0x7f800000u)));
}

#ifdef CPU_PATH

vec4 column_sum(Sum4 s) { return sum_result(s); }

#else

// The sum over the row lanes; valid where first_row() is 0.
vec4 column_sum(Sum4 s) {
  const uint me = gl_LocalInvocationID.x;
  columns_value[me] = s.value;
  columns_error[me] = s.error;
  for (uint step = kRowSteps / 2; step > 0; step /= 2) {
    barrier();
    if (first_row() < step) {
      const uint other = me + step * kColumnLanes;
      s.error = s.error + columns_error[other];
      s = sum_add(s, columns_value[other]);
      columns_value[me] = s.value;
      columns_error[me] = s.error;
    }
  }
  return sum_result(s);
}

#endif
