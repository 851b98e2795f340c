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

/// Activations that the backward pass makes again instead of keeping them (Transformers'
/// gradient_checkpointing). No bit of what is learned depends on it.
enum class Checkpointing : uint8_t { never, when_needed, every_layer };

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
  Checkpointing checkpointing = Checkpointing::never;
  int64_t memory_limit = 0; // bytes in all that `when_needed` should fit into; 0: nothing is needed
  bool train = true;        // false: forward graphs only
  bool want_loss = true;    // forward graphs: the loss of a batch
  bool want_logits = false; // also a forward program per bucket that keeps the logits [N, V]
};

/// What a graph makes again.
struct Recomputed {
  int64_t layers = 0;                  // whole ones
  std::map<std::string, int64_t> ops;  // in the other layers: nodes by op
  double share = 0;                    // of the micro-batch's multiply-adds
  int64_t steps = 0;                   // taken of those there are (see graph/passes/recompute.h)
};

/// A graph of one bucket with its arena.
struct PlannedGraph {
  Bucket bucket;
  Graph graph;
  size_t forward_nodes = 0;  // how many nodes come before the backward pass
  Recomputed recomputed;
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
  /// Of the bucket that makes most again.
  Recomputed recomputed() const;
};

EnginePlan plan_engine(const EngineSetup& setup, const DeviceProfile& device);

/// Transformers' rule for weight decay (Trainer.get_decay_parameter_names): not for biases nor for
/// anything in a module that is a norm.
bool decays_by_default(const std::string& parameter);

}  // namespace lemnos
