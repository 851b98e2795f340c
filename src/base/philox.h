#pragma once

#include <array>
#include <cstdint>

namespace lemnos {

/// Philox4x32-10 (Salmon et al., SC11): 128 random bits as a pure function of counter and key; the
/// host's twin of ops/glsl/philox.glsl, bit for bit.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace lemnos
