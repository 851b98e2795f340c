#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/storage.h"
#include "train/gemm_choice.h"
#include "verify/report.h"
#include "vk/device.h"

namespace lemnos {

/// Damage to an engine, for negative controls: a gate that stays green under it is broken.
struct Sabotage {
  using OfStorage = std::function<void(Storage&, const Graph&)>;
  std::function<void(Graph&)> graph;                     // each, before it is recorded
  OfStorage weights;                                     // once they are loaded
  OfStorage stepped;                                     // after each optimizer step
  OfStorage resumed;                                     // once a checkpoint is loaded
  std::map<std::string, std::vector<uint32_t>> shaders;  // SPIR-V instead of a kernel's own
};

struct VerifyOptions {
  bool gpu_path = false;  // the GPU's kernels, also on a CPU device
  GemmChoice gemm = GemmChoice::automatic;
  Sabotage sabotage;
};

/// Runs a reference bundle: logits, every gradient, every parameter after each optimizer step (read
/// back from exported files), and judges them by the gates. A LoRA bundle may hold the base's own
/// logits beside the adapter's. Bundles of fixture tiny also resume from the checkpoint of step 1, and
/// packed ones run each document alone; both must give the same bits.
VerifyReport verify_reference(vk::Device& device, const std::filesystem::path& bundle, const VerifyOptions& options);

}  // namespace lemnos
