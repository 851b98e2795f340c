#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "io/checkpoint.h"
#include "io/temporary_dir.h"
#include "peft/adapter_config.h"
#include "train/engine.h"
#include "train/run_files.h"
#include "verify/reference.h"
#include "verify/verify.h"

namespace lemnos {

/// What all engines of a verification share; device and options outlive it.
struct Bench {
  Bench(vk::Device& on, const VerifyOptions& with)
      : device(on), options(with), pipelines(std::make_shared<vk::PipelineCache>(on, with.sabotage.shaders)) {}

  /// An engine on the options' path, with their damage in its graphs and kernels.
  Engine make_engine(const EngineSetup& setup) const;

  vk::Device& device;
  const VerifyOptions& options;
  std::shared_ptr<vk::PipelineCache> pipelines;
};

/// One engine that computes what a reference bundle holds. `bench` and `reference` outlive it.
class ReferenceRun {
 public:
  ReferenceRun(const Bench& bench, const Reference& reference);

  const EngineSetup& setup() const { return setup_; }
  Storage& storage() { return engine_.storage(); }
  const Graph& graph() const { return engine_.graph(); }

  /// Everything, under the bundle's names, from the first step on. `loss`: before each step.
  NamedTensors compute(std::vector<double>& loss);
  /// After compute(): whether the steps after the first, in a new engine that loads the first one's
  /// checkpoint, end in the same bits.
  bool resumes_in_the_same_bits(const NamedTensors& uninterrupted);
  /// Largest change of a frozen parameter since the start.
  double base_drift();
  /// All but what is taken of the results.
  Evidence evidence() const;

 private:
  void run_window(int64_t step);
  void give_gradients(int64_t step);
  void update();
  NamedTensors steps_after(int64_t done, std::vector<double>* loss);
  NamedTensors gradients();
  std::vector<float> base_logits();
  NamedTensors export_parameters(bool adapter);
  train::RunIdentity identity() const;

  const Bench& bench_;
  const Reference& reference_;
  std::optional<AdapterConfig> adapter_;
  Checkpoint weights_;
  EngineSetup setup_;
  Engine engine_;
  NamedTensors frozen_;
  std::optional<TemporaryDir> checkpoints_;  // of step 1, where it will be resumed
};

}  // namespace lemnos
