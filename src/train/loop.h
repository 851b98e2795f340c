#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "train/run_folder.h"
#include "train/session.h"
#include "train/training_checkpoint.h"

namespace lemnos::train {

/// Steps the engine through the sampler's windows; logs, saves, stops.
class Loop {
 public:
  Loop(const Prepared& prepared, Engine& engine, data::Sampler& sampler, OwnCheckpoints own, Json settings);

  /// Continues after a checkpoint's step; weights and moments are restored apart (load_checkpoint).
  void resume(TrainerState state);
  /// `begun` is called with the number of steps done before, once the first step has succeeded and
  /// before anything is written about it.
  TrainResult run(const std::function<bool()>& interrupted, const std::function<void(int64_t)>& begun);

 private:
  void train_window(const std::function<void(int64_t)>& begun);
  void after_step(const Engine::WindowResult& result, int64_t supervised, double learning_rate);
  void log_metrics(double grad_norm, double learning_rate);
  std::string time_left(std::chrono::steady_clock::time_point now) const;
  void save();
  bool save_is_due() const;

  const Prepared& prepared_;
  Engine& engine_;
  data::Sampler& sampler_;
  LrSchedule schedule_;
  AdamWSettings adamw_;
  TrainerState state_;
  OwnCheckpoints own_;
  int64_t logging_steps_;
  int64_t save_steps_;
  int64_t last_saved_ = -1;
  double last_loss_ = 0;
  int64_t timed_tokens_ = 0;  // since the last log
  /// After the first step of this process, which compiled the kernels.
  struct Warm {
    int64_t step;
    std::chrono::steady_clock::time_point at;
  };
  std::optional<Warm> warm_;
  std::chrono::steady_clock::time_point last_log_;
};

}  // namespace lemnos::train
