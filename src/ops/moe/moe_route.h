#pragma once

#include "graph/builder.h"

namespace lemnos::ops {

struct Routing {
  ValueId weights;  // [N,k] f32, largest first
  ValueId experts;  // [N,k] i32
};

/// The softmax top-k router of Mixtral, Qwen-MoE and OLMoE: for router logits[N,E],
///   p = softmax(logits) over all experts; experts = the k largest; weights = p[experts],
///   divided by their sum when `norm_topk_prob` (then they are the softmax over the chosen logits).
/// Equal logits are chosen in ascending order of the expert. No gradient flows through the choice.
/// (transformers/models/mixtral/modeling_mixtral.py, MixtralTopKRouter)
Routing moe_route(Builder& b, ValueId logits, int64_t k, bool norm_topk_prob);

}  // namespace lemnos::ops
