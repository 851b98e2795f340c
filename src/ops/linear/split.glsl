// Numbers in two f16 parts for matrix units: x * scale = hi + lo, each of 11 bits (see gemm_split.comp).

// The power of two that takes a largest magnitude (its bits) to 2^14 up to 2^15, and its inverse.
uint exponent_of_scale(uint largest) { return clamp(268 - int(largest >> 23), 1, 253); }
float scale_of(uint largest) { return uintBitsToFloat(exponent_of_scale(largest) << 23); }
float inverse_of(uint largest) { return uintBitsToFloat((254 - exponent_of_scale(largest)) << 23); }

struct Split4 {
  uvec2 hi, lo;
};
struct Split {
  uvec4 hi, lo;
};

// The upper 11 bits, rounded; by bits, as drivers fold a conversion to f16 and back.
vec4 upper(vec4 x) { return uintBitsToFloat(floatBitsToUint(x) + 0x1000u & 0xffffe000u); }
uvec2 packed(vec4 x) { return uvec2(packHalf2x16(x.xy), packHalf2x16(x.zw)); }

Split4 split4(vec4 x) {
  const vec4 hi = upper(x);
  return Split4(packed(hi), packed(x - hi));
}
Split split8(vec4 x, vec4 y, float scale) {
  const Split4 first = split4(x * scale), second = split4(y * scale);
  return Split(uvec4(first.hi, second.hi), uvec4(first.lo, second.lo));
}
