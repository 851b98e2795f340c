#pragma once

#include <map>
#include <string>

#include "graph/value.h"
#include "proof/claim.h"

namespace lemnos {

/// What training this model at a stage ("base", "lora", "optimizer") needs to be proven. A function of
/// what the config turns on, not of its sizes: the loss is taken whole and in chunks, an adapter is on
/// every Linear and has dropout. `dtypes`: how frozen weights are stored, "weights:bf16" say, as kernels
/// of their own read them.
proof::Claim claim_of(const ModelConfig& model, const std::string& stage, const std::map<std::string, DType>& dtypes);

}  // namespace lemnos
