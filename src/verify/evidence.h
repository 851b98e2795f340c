#pragma once

#include <map>
#include <string>
#include <vector>

#include "proof/claim.h"
#include "train/engine_plan.h"

namespace lemnos {

/// What a verification says of itself, for the records under qualification/ (docs/formats.md).
struct Evidence {
  proof::Claim claim;
  std::string sources;         // the fingerprint of the program's sources
  std::string spirv;           // SHA-256 over the kernels that ran
  std::string binary;          // SHA-256 of this executable
  std::string driver;          // name and version
  std::string kernels;         // "cpu" or "gpu": which kind ran
  std::string gemm;            // what was asked for: "auto", "fma" or "split"
  std::string tensors_sha256;  // over everything computed: name, float32 bytes; in name order
};

/// SHA-256 over name and words of each kernel that the plan dispatches on this device, in name order.
std::string spirv_sha256(const EnginePlan& plan, const DeviceProfile& device);
std::string tensors_sha256(const std::map<std::string, std::vector<float>>& tensors);
std::string executable_sha256();

}  // namespace lemnos
