#pragma once

#include <filesystem>
#include <functional>

#include "graph/graph.h"
#include "verify/report.h"
#include "vk/device.h"

namespace lemnos {

struct VerifyOptions {
  bool gpu_path = false;  // the GPU's kernels, also on a CPU device
  /// For negative controls: damages each graph before it is recorded. A gate that stays green under
  /// it is broken.
  std::function<void(Graph&)> sabotage;
};

/// Runs a reference bundle: logits, every gradient, every parameter after each optimizer step (read
/// back from exported files), and judges them by the gates.
VerifyReport verify_reference(vk::Device& device, const std::filesystem::path& bundle, const VerifyOptions& options);

}  // namespace lemnos
