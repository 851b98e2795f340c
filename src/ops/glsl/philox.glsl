// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): 128 random
// bits as a pure function of a 128-bit counter and a 64-bit key. src/base/philox.h gives the same
// bits on the host.
uvec4 philox4x32(uvec4 counter, uvec2 key) {
  for (uint round = 0; round < 10; ++round) {
    uint high0, low0, high1, low1;
    umulExtended(0xd2511f53u, counter.x, high0, low0);
    umulExtended(0xcd9e8d57u, counter.z, high1, low1);
    counter = uvec4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
    key += uvec2(0x9e3779b9u, 0xbb67ae85u);
  }
  return counter;
}
