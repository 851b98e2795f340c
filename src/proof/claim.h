#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/features.h"
#include "proof/sources.h"

namespace lemnos::proof {

/// What a run needs to be proven.
struct Claim {
  ProgramParts program;
  std::vector<std::string> features;   // sorted
  std::vector<FeaturePair> together;   // pairs of them that one record must hold
  std::map<std::string, std::string> fields;  // what of config.json a feature comes from, where it does
};

}  // namespace lemnos::proof
