#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/memory_plan.h"
#include "graph/op.h"
#include "models/model.h"
#include "peft/lora.h"
#include "train/gemm_choice.h"

namespace lemnos {

/// One padded shape of micro-batches. Each has its own program; all share memory.
struct Bucket {
  int64_t rows = 1;
  int64_t length = 0;
  int64_t segments = 2;  // documents and padding tails in one batch at most
  auto operator<=>(const Bucket&) const = default;
};

/// What is trained, on what shapes: everything a plan depends on besides the device.
struct EngineSetup {
  ModelConfig model;
  std::vector<Bucket> buckets;
  std::optional<LoraConfig> lora;  // absent: full training
  /// Storage type of each frozen parameter (see stored_dtypes); absent names are f32.
  std::map<std::string, DType> dtypes;
  /// Weight decay on every trainable tensor; false: as Transformers' Trainer, not on biases and norms.
  bool decay_all = false;
  GemmChoice gemm = GemmChoice::automatic;
  bool train = true;        // false: forward graphs only
  bool want_loss = true;    // forward graphs: the loss of a batch
  bool want_logits = false; // also a forward program per bucket that keeps the logits [N, V]
};

/// A graph of one bucket with its arena.
struct PlannedGraph {
  Bucket bucket;
  Graph graph;
  ArenaPlan arena;
  ValueId logits;  // valid in logits graphs
};

/// Everything that will be allocated, known before any device memory is taken.
struct EnginePlan {
  std::vector<PlannedGraph> training;  // one per bucket
  std::vector<PlannedGraph> logits;    // with want_logits
  StoragePlan storage;
  ArenaSizes arena;
  std::vector<ModuleInfo> targets;     // LoRA's
  int64_t trainable_parameters = 0;    // elements
  int64_t base_parameters = 0;         // elements, tied weights once

  /// Bytes by kind, as `lemnos plan` prints them: weights, trainable weights, gradients, optimizer,
  /// activations, inputs.
  std::map<std::string, int64_t> bytes_by_kind() const;
  int64_t peak_bytes() const;
};

EnginePlan plan_engine(const EngineSetup& setup, const DeviceProfile& device);

/// Transformers' rule for weight decay (Trainer.get_decay_parameter_names): not for biases nor for
/// anything in a module that is a norm.
bool decays_by_default(const std::string& parameter);

}  // namespace lemnos
