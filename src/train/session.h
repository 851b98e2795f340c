#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "io/checkpoint.h"
#include "proof/coverage.h"
#include "runtime/profile.h"
#include "text/tokenizer.h"
#include "train/run_files.h"
#include "train/train_config.h"

namespace lemnos::train {

/// What a run is made of before a device is opened: files read and checked, batches planned.
struct Prepared {
  TrainConfig config;
  RunIdentity identity;
  std::optional<Checkpoint> weights;  // absent with init_from_config
  std::optional<Tokenizer> tokenizer;
  data::Dataset dataset;
  data::SamplerOptions sampling;
  EngineSetup setup;
  proof::Coverage proof;
  int64_t total_steps = 0;
};

/// What the preparation is for: a plan may be made of what is not proven.
enum class Purpose { train, plan };
using ProofRecords = std::span<const proof::Record>;
/// Reads model, tokenizer and data. Every error that files can cause is found here; to train what the
/// records do not prove is Error{unsupported}.
Prepared prepare(TrainConfig config, Purpose purpose, ProofRecords records = proof::embedded_records().all);

/// The settings that decide what is learned, by option name (what resume compares).
Json learning_settings(const Prepared& prepared);

struct TrainResult {
  int64_t steps = 0;
  double last_loss = 0;
  bool interrupted = false;  // Ctrl-C: a checkpoint was written
};

/// The whole run: prepare, open the device, plan, load, train, write. `interrupted` is asked between
/// steps.
TrainResult run_training(TrainConfig config, const std::function<bool()>& interrupted,
                         ProofRecords records = proof::embedded_records().all);

/// `lemnos plan`: what run_training would allocate on a device with this profile.
struct PlanReport {
  EnginePlan plan;
  int64_t total_steps = 0;
  std::vector<Bucket> buckets;
  int64_t rank = 0;  // LoRA's; 0: full training
  std::vector<std::string> refusals;  // why `train` would not run it as things are now
};
PlanReport plan_training(TrainConfig config, const DeviceProfile& device);
Json to_json(const PlanReport& report);

}  // namespace lemnos::train
