#version 460
//! variant cpu -DCPU_PATH=1
//! variant gpu
//! variant cpu_forward -DCPU_PATH=1 -DFORWARD_ONLY=1
//! variant gpu_forward -DFORWARD_ONLY=1
// Per row, with x = logits (or cap * tanh(logits / cap)), m = max x, s = sum exp(x - m):
//   loss = log(s) - (x[target] - m);  dlogits = (exp(x - m) / s - onehot) * loss_scale * dx/dlogits
// Rows whose target is negative give zeros. dlogits may be logits: each element is read and written
// by the same invocation.
// One workgroup per row (kRowLanes is the whole group); an invocation owns every 8th (cpu) or 256th
// (gpu) vec4, kUnroll at a time. It keeps a maximum that lags by at most 8 and the compensated sum
// of exponentials against it, to which each vec4 adds as a tree. Two passes over the row, same order.
#extension GL_GOOGLE_include_directive : require
#include "ops/glsl/common.glsl"
#include "ops/glsl/math.glsl"
#include "ops/glsl/reduce.glsl"
#include "ops/glsl/rows.glsl"
#include "ops/loss/cross_entropy.params.h"
#include "ops/optim/step_params.glsl"

layout(constant_id = 2) const bool kSoftcap = false;
PUSH(CrossEntropyParams);

#ifdef CPU_PATH
const uint kUnroll = 1;  // the exponentials are long: more of them take seconds to compile
#else
const uint kUnroll = 2;
#endif
const float kAbsent = -3.4e38;  // beyond the row's end; its exponential is 0
const float kLowest = -1e38;    // where the lagging maximum starts: above kAbsent
const float kLag = 8.0;

float capped(float x) { return kSoftcap ? p.softcap * m_tanh(m_div(x, p.softcap)) : x; }

float cap_slope(float x) {
  const float t = kSoftcap ? m_div(x, p.softcap) : 0.0;
  return 1.0 - t * t;
}

vec4 load(uint i) {
  if (4 * i >= p.columns) return vec4(kAbsent);
  vec4 x = load4(p.logits, row_index(), 4 * i, p.columns);
  [[unroll]] for (uint j = 0; j < 4; ++j)
    x[j] = kWidthBy4 || 4 * i + j < p.columns ? capped(x[j]) : kAbsent;
  return x;
}

struct RowSum {
  float highest;  // the exact maximum so far
  float lagging;  // what the exponentials are taken against; at most kLag below the maximum
  Sum sum;
};

float highest_of(vec4 x) { return max(max(x.x, x.y), max(x.z, x.w)); }

float sum_exp(vec4 x, float m) {
  return (m_exp(x.x - m) + m_exp(x.y - m)) + (m_exp(x.z - m) + m_exp(x.w - m));
}

void raise_maximum(inout RowSum total, float highest) {
  total.highest = max(total.highest, highest);
  if (highest <= total.lagging + kLag) return;
  const float shrink = m_exp(total.lagging - highest);
  total.sum = Sum(total.sum.value * shrink, total.sum.error * shrink);
  total.lagging = highest;
}

RowSum scan_row() {
  RowSum total = RowSum(kAbsent, kLowest, Sum(0.0, 0.0));
  for (uint i = row_lane(); 4 * i < p.columns; i += kUnroll * kRowLanes) {
    vec4 x[kUnroll];
    float highest = kAbsent;
    [[unroll]] for (uint j = 0; j < kUnroll; ++j) {
      x[j] = load(i + j * kRowLanes);
      highest = max(highest, highest_of(x[j]));
    }
    raise_maximum(total, highest);
    [[unroll]] for (uint j = 0; j < kUnroll; ++j)
      total.sum = sum_add(total.sum, sum_exp(x[j], total.lagging));
  }
  return total;
}

#ifdef FORWARD_ONLY

void finish(uint target, float highest, float sum) {
  if (row_lane() != 0) return;
  const float x = capped(F32(p.logits).v[row_index() * p.columns + target]);
  F32(p.losses).v[row_index()] = m_log(sum) - (x - highest);
}

void ignore_row() {
  if (row_lane() == 0) F32(p.losses).v[row_index()] = 0.0;
}

#else

void store(uint i, vec4 d) {
  if (4 * i < p.columns) store4(p.dlogits, row_index(), 4 * i, p.columns, d);
}

// The invocation that owns the target also writes the row's loss: nobody else may read its element.
void finish(uint target, float highest, float sum) {
  const float inverse = m_div(1.0, sum), scale = F32(p.step).v[kLossScale];
  for (uint i = row_lane(); 4 * i < p.columns; i += kUnroll * kRowLanes) {
    [[unroll]] for (uint j = 0; j < kUnroll; ++j) {
      const uint at = i + j * kRowLanes;
      const vec4 x = load(at);
      vec4 d;
      [[unroll]] for (uint c = 0; c < 4; ++c) {
        const bool hot = 4 * at + c == target;
        if (hot) F32(p.losses).v[row_index()] = m_log(sum) - (x[c] - highest);
        const float probability = m_exp(x[c] - highest) * inverse;
        d[c] = (hot ? probability - 1.0 : probability) * scale * cap_slope(x[c]);
      }
      store(at, d);
    }
  }
}

void ignore_row() {
  for (uint i = row_lane(); 4 * i < p.columns; i += kUnroll * kRowLanes)
    [[unroll]] for (uint j = 0; j < kUnroll; ++j) store(i + j * kRowLanes, vec4(0));
  if (row_lane() == 0) F32(p.losses).v[row_index()] = 0.0;
}

#endif

void main() {
  if (row_index() >= p.rows) return;
  const int target = I32(p.targets).v[row_index()];
  if (target < 0) {
    ignore_row();
    return;
  }
  const RowSum mine = scan_row();
  const float highest = row_max(mine.highest);
  const float shrink = m_exp(mine.lagging - highest);
  const float sum = row_sum(Sum(mine.sum.value * shrink, mine.sum.error * shrink));
  finish(uint(target), highest, sum);
}
