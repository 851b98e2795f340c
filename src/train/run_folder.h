#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "train/train_config.h"
#include "train/training_checkpoint.h"

namespace lemnos::train {

/// Before any work: Error{io} when output_dir is no folder that can be written to, Error{usage} when
/// it is the model's own, holds a finished model or checkpoints of another program or, without
/// resume_from_checkpoint, of an earlier run. Leaves nothing behind.
void check_run_folder(const TrainConfig& config);

/// Held by the one run that writes into a folder. Error{usage} when another one holds it, in any
/// process; a dead process holds nothing.
class RunLock {
 public:
  explicit RunLock(const std::filesystem::path& run_folder);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  int folder_ = -1;
};

/// output_dir with the folders above it. Those that it had to make and that are empty are gone with it:
/// a start that fails leaves nothing.
class RunFolder {
 public:
  explicit RunFolder(const std::filesystem::path& folder);
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  ~RunFolder();

 private:
  std::vector<std::filesystem::path> made_;  // the outermost first
};

/// The checkpoint that resume_from_checkpoint means, nothing for a run from the beginning. Error{io}
/// when there is no such folder or it holds no checkpoint; else as `check_checkpoint`.
std::optional<std::filesystem::path> checkpoint_to_resume(const TrainConfig& config);

/// Both at once for a plan, with their errors: nothing is changed or logged.
std::optional<std::filesystem::path> checkpoint_of_plan(const TrainConfig& config);

/// The checkpoints that a run wrote into its folder; rotation removes these and no others.
class OwnCheckpoints {
 public:
  explicit OwnCheckpoints(std::filesystem::path run_folder) : run_folder_(std::move(run_folder)) {}

  /// Of a run that goes on from `checkpoint`: those of the folder up to its step whose settings are
  /// the run's and whose history led to it, if `checkpoint` lies in the folder. Error{usage} when a
  /// later one is another run's and this run would replace it.
  void resume(const std::filesystem::path& checkpoint, const TrainerState& state);
  void add(int64_t step) { steps_.push_back(step); }
  /// Removes the oldest beyond `keep`.
  void rotate(int64_t keep);

 private:
  std::filesystem::path run_folder_;
  std::vector<int64_t> steps_;  // ascending
};

}  // namespace lemnos::train
