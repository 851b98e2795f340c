#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "vk/device.h"
#include "vk/pipeline.h"

namespace lemnos::doctor {

/// Largest error of one of our elementary functions (ops/glsl/math.glsl) on a device, against the bound
/// that docs/numerics.md states.
struct FunctionError {
  std::string name;
  std::string unit;  // "ulp", or "absolute"
  double worst = 0;
  double bound = 0;
  float at = 0;      // where
  bool ok() const { return worst <= bound; }
};

/// 2^19 samples of each range; about a second on lavapipe.
std::vector<FunctionError> check_functions(vk::Device& device, vk::PipelineCache& pipelines);

Json to_json(const std::vector<FunctionError>& functions);

}  // namespace lemnos::doctor
