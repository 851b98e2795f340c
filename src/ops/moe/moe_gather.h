#pragma once

#include "graph/builder.h"
#include "ops/moe/moe_sort.h"

namespace lemnos::ops {

/// xs[r] = x[order[r] / k]: each token's row of x[N,H] once for every expert it chose; xs is
/// [N*k,H]. The gradient of a token adds its k rows by ascending expert.
ValueId moe_gather(Builder& b, ValueId x, const ExpertRows& experts);

/// y[n] = sum over the token's k rows r, by ascending expert, of weights[order[r]] * ys[r]
/// (as the eager loop of MixtralExperts adds them); ys[N*k,H], weights[N,k], y[N,H].
ValueId moe_combine(Builder& b, ValueId ys, ValueId weights, const ExpertRows& experts);

}  // namespace lemnos::ops
