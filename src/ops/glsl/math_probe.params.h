#include "ops/params.h"

// Which function of math.glsl the probe evaluates: its specialization constant 0.
#ifdef __cplusplus
namespace lemnos {
enum class MathFunction : uint32_t { exp, log, tanh, sigmoid, silu, rsqrt, sqrt, div, sin, cos };
}  // namespace lemnos
#endif

LEMNOS_PARAMS_BEGIN
struct MathProbeParams {
  uvec2 x;
  uvec2 y;
  uvec2 z;
  uint count;
};
LEMNOS_PARAMS_END
