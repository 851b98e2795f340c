// Read by C++ and by GLSL: the types that a kernel's parameter struct (<op>.params.h) is made of.
// A struct starts with the buffer addresses (uvec2 each), scalars follow; at most 128 bytes.
#ifndef LEMNOS_OPS_PARAMS_H
#define LEMNOS_OPS_PARAMS_H

#ifdef __cplusplus
#include <cstdint>
#define LEMNOS_PARAMS_BEGIN namespace lemnos {
#define LEMNOS_PARAMS_END }
namespace lemnos {
using uint = uint32_t;
/// A device address, low word first; filled in when a program is recorded.
struct uvec2 {
  uint32_t x = 0;
  uint32_t y = 0;
};
}  // namespace lemnos
#else
#define LEMNOS_PARAMS_BEGIN
#define LEMNOS_PARAMS_END
#endif

#endif
