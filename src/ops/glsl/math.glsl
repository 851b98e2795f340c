// Elementary functions with a stated error on every driver (built-ins are off by up to 64 ulp).
// Largest error against the exact value, in units of the result's last place:
//   m_exp 1.0   m_log 0.9   m_tanh 1.5   m_sigmoid 2.5   m_silu 2.5   m_div, m_sqrt, m_rsqrt 0.51
//   m_sin, m_cos: 1e-7 absolute for |x| <= 4096 (larger angles lose accuracy)
// inf, nan, overflow and underflow give what IEEE 754 says. Results below 2^-126 may be flushed to
// zero, and so may such arguments of all functions but m_log: devices differ there.
//
// Everything is separate `precise` multiplies and adds. No fma(): some drivers do not fuse it.
// Polynomials are minimax fits of the remainder named beside them.

float m_bits(uint bits) { return uintBitsToFloat(bits); }

// z * 2^n for n in [-254, 254], |z| in [1/2, 2]; one rounding.
float m_scale(float z, int n) {
  const int half_n = n >> 1;
  precise float y = z * m_bits(uint(half_n + 127) << 23);
  y = y * m_bits(uint(n - half_n + 127) << 23);
  return y;
}

// a * b - p, exactly, for p = a * b rounded: both factors split into 12 + 12 bits (Dekker).
float m_product_error(float a, float b, float p) {
  precise float a1 = m_bits(floatBitsToUint(a) & 0xfffff000u);
  precise float b1 = m_bits(floatBitsToUint(b) & 0xfffff000u);
  precise float a2 = a - a1;
  precise float b2 = b - b1;
  precise float e = a1 * b1 - p;
  e = e + a1 * b2;
  e = e + a2 * b1;
  e = e + a2 * b2;
  return e;
}

bool m_is_normal(uint bits) { return (bits & 0x7fffffffu) - 0x00800000u < 0x7f000000u; }

// x / y: the built-in quotient of the mantissas, corrected by its exact remainder.
float m_div(float x, float y) {
  const uint ux = floatBitsToUint(x), uy = floatBitsToUint(y);
  if (!m_is_normal(ux) || !m_is_normal(uy)) return x / y;
  const float a = m_bits((ux & 0x807fffffu) | 0x3f800000u);
  const float b = m_bits((uy & 0x807fffffu) | 0x3f800000u);
  precise float q = a / b;
  precise float p = q * b;
  precise float remainder = (a - p) - m_product_error(q, b, p);
  precise float z = q + remainder / b;
  return m_scale(z, int(ux >> 23 & 255u) - int(uy >> 23 & 255u));
}

float m_sqrt(float x) {
  const uint ux = floatBitsToUint(x);
  if (!m_is_normal(ux) || x < 0.0) return sqrt(x);
  const int exponent = int(ux >> 23) - 127;
  const int odd = exponent & 1;
  const float m = m_bits((ux & 0x007fffffu) | uint(127 + odd) << 23);  // [1, 4)
  precise float s = sqrt(m);
  precise float p = s * s;
  precise float remainder = (m - p) - m_product_error(s, s, p);
  precise float z = s + 0.5 * remainder / s;
  return z * m_bits(uint((exponent - odd) / 2 + 127) << 23);
}

// 1 / sqrt(m) of the mantissa m in [1, 4), so that no product is a denormal: the built-in value y, corrected
// by half of 1 - m y y.
float m_rsqrt(float x) {
  const uint ux = floatBitsToUint(x);
  if (!m_is_normal(ux) || x < 0.0) return inversesqrt(x);
  const int exponent = int(ux >> 23) - 127;
  const int odd = exponent & 1;
  const float m = m_bits((ux & 0x007fffffu) | uint(127 + odd) << 23);
  precise float y = inversesqrt(m);
  precise float p = m * y;
  precise float q = p * y;
  precise float rest = 1.0 - q;
  rest = rest - m_product_error(p, y, q);
  rest = rest - m_product_error(m, y, p) * y;
  precise float z = y + 0.5 * y * rest;
  return z * m_bits(uint((odd - exponent) / 2 + 127) << 23);
}

// 2^n e^r with r = x - n ln 2; (e^r - 1 - r) / r^2.
float m_exp(float x) {
  if ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u) return x;
  const float bounded = clamp(x, -110.0, 90.0);  // beyond: 0 and inf
  const float n = roundEven(bounded * 1.44269504);
  precise float r = bounded - n * 0.693145751953125;
  r = r - n * 1.42860677e-6;
  precise float poly = 1.98527618e-4;
  poly = poly * r + 1.39304336e-3;
  poly = poly * r + 8.33336078e-3;
  poly = poly * r + 4.16664854e-2;
  poly = poly * r + 0.166666672;
  poly = poly * r + 0.5;
  precise float y = poly * (r * r);
  y = y + r;
  y = y + 1.0;
  return m_scale(y, int(n));
}

// e ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)); (log(1 + f) - f + f^2/2) / f^3.
float m_log(float x) {
  uint ux = floatBitsToUint(x);
  if (ux - 1u >= 0x7f7fffffu) {  // zero, negative, inf, nan
    if ((ux & 0x7fffffffu) == 0u) return m_bits(0xff800000u);
    return ux == 0x7f800000u || (ux & 0x7fffffffu) > 0x7f800000u ? x : m_bits(0x7fc00000u);
  }
  int shift = 0;
  if (ux < 0x00800000u) {  // a denormal's bits, normalised without arithmetic that may flush it
    shift = 23 - findMSB(ux);
    ux <<= uint(shift);
  }
  const int exponent = int(ux - 0x3f3504f3u) >> 23;
  const float n = float(exponent - shift);
  precise float f = m_bits(ux - (uint(exponent) << 23)) - 1.0;
  precise float poly = 0.06746601;
  poly = poly * f - 0.11675641;
  poly = poly * f + 0.11888175;
  poly = poly * f - 0.124055915;
  poly = poly * f + 0.14219551;
  poly = poly * f - 0.16667996;
  poly = poly * f + 0.20002119;
  poly = poly * f - 0.2500001;
  poly = poly * f + 0.33333313;
  precise float square = f * f;
  precise float y = poly * f * square;
  y = y + n * 1.42860677e-6;
  y = y - 0.5 * square;
  y = y + f;
  y = y + n * 0.693145751953125;
  return y;
}

// Near zero (tanh(x) / x - 1) / x^2, a polynomial in x^2; else 1 - 2 / (e^2|x| + 1).
float m_tanh(float x) {
  const float magnitude = abs(x);
  if (magnitude < 0.625) {
    precise float z = x * x;
    precise float poly = 0.002147537;
    poly = poly * z - 0.008182674;
    poly = poly * z + 0.021702968;
    poly = poly * z - 0.053947203;
    poly = poly * z + 0.1333321;
    poly = poly * z - 0.3333333;
    precise float y = poly * z * x;
    y = y + x;
    return y;
  }
  precise float e = m_exp(2.0 * magnitude) + 1.0;
  precise float y = 1.0 - m_div(2.0, e);
  return x < 0.0 ? -y : y;
}

// 1 / (1 + e^-x), from e^-|x| so that nothing overflows.
float m_sigmoid(float x) {
  const float e = m_exp(-abs(x));
  precise float below = 1.0 + e;
  return m_div(x < 0.0 ? e : 1.0, below);
}

// x sigmoid(x) = x / (1 + e^-x)
float m_silu(float x) {
  precise float below = 1.0 + m_exp(-x);
  return m_div(x, below);
}

// x = n pi/2 + r with |r| <= pi/4; returns r and n.
float m_quarter_turn(float x, out int n) {
  const float turns = roundEven(x * 0.636619772);
  n = int(turns);
  precise float r = x - turns * 1.5703125;
  r = r - turns * 4.837512969970703125e-4;
  r = r - turns * 7.54978995e-8;
  return r;
}

// (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4, polynomials in r^2.
float m_quarter_sin(float r) {
  precise float z = r * r;
  precise float poly = 2.7183041e-6;
  poly = poly * z - 1.9839335e-4;
  poly = poly * z + 8.333329e-3;
  poly = poly * z - 0.16666667;
  precise float y = poly * z * r;
  y = y + r;
  return y;
}

float m_quarter_cos(float r) {
  precise float z = r * r;
  precise float poly = 2.4438377e-5;
  poly = poly * z - 1.3887367e-3;
  poly = poly * z + 4.1666646e-2;
  precise float y = poly * z * z;
  y = y - 0.5 * z;
  y = y + 1.0;
  return y;
}

float m_sin(float x) {
  int n;
  const float r = m_quarter_turn(x, n);
  const float y = (n & 1) == 0 ? m_quarter_sin(r) : m_quarter_cos(r);
  return (n & 2) == 0 ? y : -y;
}

float m_cos(float x) {
  int n;
  const float r = m_quarter_turn(x, n);
  const float y = (n & 1) == 0 ? m_quarter_cos(r) : m_quarter_sin(r);
  return ((n + 1) & 2) == 0 ? y : -y;
}
