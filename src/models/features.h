#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace lemnos {

/// What of a config is in play, sorted: short names of what changes the program, or which code computes
/// its numbers ("tied_embeddings", "attention:gqa", "rope:yarn"). Sizes are none. What all decoders share
/// and what the family adds. A config is proven when each of its features is (src/proof/coverage.h).
std::vector<std::string> features_of(const ModelConfig& config);

/// Pairs of features that act on each other: both must be green in one record. All of a family's.
using FeaturePair = std::pair<std::string, std::string>;
std::vector<FeaturePair> interacting_pairs(const Family& family);
/// Those whose features both are in play.
std::vector<FeaturePair> interacting_features(const ModelConfig& config);

}  // namespace lemnos
