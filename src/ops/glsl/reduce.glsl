// Sums and maxima along a row, in one fixed order per path; kRowLanes invocations share a row.
//   CPU path: a workgroup is 8 lanes and owns one row; xor-shuffle tree over 1, 2, 4.
//   GPU path: a workgroup is 256 lanes and owns 256 / kRowLanes rows; shared-memory tree over
//             kRowLanes/2, ..., 2, 1. It does not depend on the subgroup's size.
// A lane adds its elements to a Sum, which carries the rounding errors along (Knuth's two-sum), and
// the tree does too, so the error of a sum is that of its terms plus one rounding, at any length.
// Every lane of a row must call row_sum and row_max, and gets the same bits.
#ifdef CPU_PATH
#extension GL_KHR_shader_subgroup_shuffle : require
const uint kRowLanes = 8;
const uint kGroupLanes = 8;
layout(local_size_x = 8) in;
#else
layout(constant_id = 0) const uint kRowLanes = 256;  // a power of two, 32 to 256
const uint kGroupLanes = 256;
layout(local_size_x = 256) in;
shared float reduce_value[kGroupLanes];
shared float reduce_error[kGroupLanes];
#endif

uint row_lane() { return gl_LocalInvocationID.x % kRowLanes; }

// The row of this invocation; may exceed the last row by less than a group.
uint row_index() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  return group * (kGroupLanes / kRowLanes) + gl_LocalInvocationID.x / kRowLanes;
}

struct Sum {
  float value;
  float error;  // what `value` lacks
};

Sum sum_add(Sum s, float x) {
  precise float t = s.value + x;
  precise float taken = t - s.value;
  precise float lost = (s.value - (t - taken)) + (x - taken);
  precise float error = s.error + lost;
  return Sum(t, error);
}

Sum sum_merge(Sum a, Sum b) {
  precise float error = a.error + b.error;
  return sum_add(Sum(a.value, error), b.value);
}

float sum_result(Sum s) {
  if ((floatBitsToUint(s.value) & 0x7f800000u) == 0x7f800000u) return s.value;  // inf, nan
  precise float y = s.value + s.error;
  return y;
}

#ifdef CPU_PATH

float row_sum(Sum s) {
  [[unroll]] for (uint stride = 1; stride < kRowLanes; stride *= 2)
    s = sum_merge(s, Sum(subgroupShuffleXor(s.value, stride), subgroupShuffleXor(s.error, stride)));
  return sum_result(s);
}

float row_max(float x) {
  [[unroll]] for (uint stride = 1; stride < kRowLanes; stride *= 2)
    x = max(x, subgroupShuffleXor(x, stride));
  return x;
}

#else

float row_sum(Sum s) {
  const uint me = gl_LocalInvocationID.x;
  reduce_value[me] = s.value;
  reduce_error[me] = s.error;
  for (uint stride = kRowLanes / 2; stride > 0; stride /= 2) {
    barrier();
    if (row_lane() < stride) {
      s = sum_merge(s, Sum(reduce_value[me + stride], reduce_error[me + stride]));
      reduce_value[me] = s.value;
      reduce_error[me] = s.error;
    }
  }
  barrier();
  const uint first = me - row_lane();
  const float result = sum_result(Sum(reduce_value[first], reduce_error[first]));
  barrier();  // the arrays may be used again
  return result;
}

float row_max(float x) {
  const uint me = gl_LocalInvocationID.x;
  reduce_value[me] = x;
  for (uint stride = kRowLanes / 2; stride > 0; stride /= 2) {
    barrier();
    if (row_lane() < stride) {
      x = max(x, reduce_value[me + stride]);
      reduce_value[me] = x;
    }
  }
  barrier();
  const float result = reduce_value[me - row_lane()];
  barrier();
  return result;
}

#endif

float row_sum(float x) { return row_sum(Sum(x, 0.0)); }
