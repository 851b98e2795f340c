#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "verify/gates.h"
#include "vk/device.h"

namespace lemnos {

struct VerifyReport {
  std::string name;
  std::string device;
  bool ok = false;
  std::vector<TensorFigures> tensors;
  std::vector<KindFigures> kinds;
  std::vector<std::string> missing;     // in the bundle, not from us
  std::vector<std::string> additional;  // from us, not in the bundle
  double base_drift = 0;                // largest change of a frozen parameter; must be exactly 0
  std::vector<double> loss, hf_loss;
};

struct VerifyOptions {
  bool gpu_path = false;  // the GPU's kernels, also on a CPU device
  /// For negative controls: damages each graph before it is recorded. A gate that stays green under
  /// it is broken.
  std::function<void(Graph&)> sabotage;
};

/// Runs a reference bundle: logits, every gradient, every parameter after each optimizer step (read
/// back from exported files), and judges them by the gates.
VerifyReport verify_reference(vk::Device& device, const std::filesystem::path& bundle, const VerifyOptions& options);

Json to_json(const VerifyReport& report);

}  // namespace lemnos
