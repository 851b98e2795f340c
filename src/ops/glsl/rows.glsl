// Four consecutive columns of a row-major matrix at once. Where the width is no multiple of 4 the
// specialization constant says so and the elements are moved one by one, those past the width
// reading as zero.
#ifdef CPU_PATH
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
// Two 64-bit loads: lavapipe loops over its lanes once per loaded word.
layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer U64x2 {
  u64vec2 v[];
};
#endif

layout(constant_id = 1) const bool kWidthBy4 = true;

vec4 load4(uvec2 matrix, uint row, uint column, uint width) {
  const uint at = row * width + column;
  if (kWidthBy4) {
#ifdef CPU_PATH
    const u64vec2 words = U64x2(matrix).v[at / 4];
    return vec4(uintBitsToFloat(unpack32(words.x)), uintBitsToFloat(unpack32(words.y)));
#else
    return F32x4(matrix).v[at / 4];
#endif
  }
  vec4 x = vec4(0);
  [[unroll]] for (uint k = 0; k < 4; ++k)
    if (column + k < width) x[k] = F32(matrix).v[at + k];
  return x;
}

void store4(uvec2 matrix, uint row, uint column, uint width, vec4 x) {
  const uint at = row * width + column;
  if (kWidthBy4) {
    F32x4(matrix).v[at / 4] = x;
  } else {
    [[unroll]] for (uint k = 0; k < 4; ++k)
      if (column + k < width) F32(matrix).v[at + k] = x[k];
  }
}
