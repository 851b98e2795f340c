#pragma once

#include <memory>
#include <vector>

#include "data/batch.h"
#include "ops/optim/step_params.h"
#include "runtime/program.h"
#include "train/engine_plan.h"
#include "train/inputs.h"
#include "vk/device.h"

namespace lemnos {

/// A planned model on a device: weights in place, programs recorded, ready to be stepped. Knows
/// nothing of files, tokenizers or schedules.
class Engine {
 public:
  struct Options {
    bool gpu_path = false;
    bool profile = false;
    std::shared_ptr<vk::PipelineCache> pipelines;  // of the device, shared by engines; null: one of its own
  };

  Engine(vk::Device& device, const EngineSetup& setup, EnginePlan plan, Options options);
  Engine(vk::Device& device, const EngineSetup& setup, EnginePlan plan)
      : Engine(device, setup, std::move(plan), Options()) {}

  const EnginePlan& plan() const { return plan_; }
  Storage& storage() { return storage_; }
  const Graph& graph() const { return plan_.training.empty() ? plan_.logits.front().graph : plan_.training.front().graph; }

  /// Starts an accumulation window: gradients and loss sum are cleared.
  void begin_window();
  /// Forward and backward of one micro-batch, adding to the gradients. The batch's shape is one of
  /// the buckets.
  void micro(const data::Batch& batch, const StepParams& step);
  /// The optimizer's step, with the StepParams of the last micro().
  void update();

  struct WindowResult {
    double loss_sum = 0;    // of the window's supervised tokens, unscaled
    double grad_norm = 0;   // before clipping; NaN or infinite: nothing was updated
  };
  /// Waits for the device.
  WindowResult result();

  /// Logits [N, V] of a batch, f32; needs EngineSetup::want_logits.
  std::vector<float> logits(const data::Batch& batch);

  /// Program of the last micro() (profiles).
  Program* last_program() { return last_; }

 private:
  struct Ready {
    Bucket bucket;
    std::unique_ptr<Program> program;
    ValueId logits;
  };
  /// Runs Section::once when weights were written since.
  void derive_from_weights();
  Ready& find(std::vector<Ready>& list, const data::Batch& batch);

  ModelConfig model_;
  EnginePlan plan_;
  Storage storage_;
  std::shared_ptr<vk::PipelineCache> pipelines_;
  InputWriter inputs_;
  std::vector<Ready> training_, logits_;
  Program* last_ = nullptr;
  uint64_t derived_at_ = 0;  // Storage::writes()
};

}  // namespace lemnos
