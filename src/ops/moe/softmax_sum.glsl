// sum over e of exp(x[first + e] - highest), ascending, with the rounding errors kept (Kahan).
float softmax_sum(uvec2 x, uint first, uint count, float highest) {
  precise float sum = 0.0;
  precise float lost = 0.0;
  for (uint e = 0; e < count; ++e) {
    precise float term = m_exp(F32(x).v[first + e] - highest) - lost;
    precise float next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}
