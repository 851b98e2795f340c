#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "train/run_files.h"

namespace lemnos::train {

/// What, besides weights and moments, makes the next step the same as without a stop. Random numbers
/// need no state: every mask is a function of (seed, step, micro-batch).
struct TrainerState {
  int64_t global_step = 0;
  Json cursor;     // data::Sampler's
  Json settings;   // the options that decide what is learned
  Json history = Json::array();  // the logged metrics, as in metrics.jsonl
  double epoch = 0;
  int64_t max_steps = 0;
  double logged_loss_sum = 0;  // since the last log
  int64_t logged_tokens = 0;
};

/// "checkpoint-<step>" inside the run's folder.
std::filesystem::path checkpoint_folder(const std::filesystem::path& run_folder, int64_t step);
/// The step of a folder so named, nothing for other names.
std::optional<int64_t> step_of(const std::filesystem::path& folder);

/// Writes a complete checkpoint or nothing: model files, optimizer.safetensors (moments) and
/// trainer_state.json, through AtomicDir. An existing checkpoint of that step is replaced.
void save_checkpoint(const std::filesystem::path& run_folder, Engine& engine, const RunIdentity& identity,
                     const TrainerState& state);

/// (step, folder) of checkpoints, ascending.
using Checkpoints = std::vector<std::pair<int64_t, std::filesystem::path>>;
/// Those in a run's folder that are complete, and those that are not.
Checkpoints complete_checkpoints(const std::filesystem::path& run_folder);
Checkpoints incomplete_checkpoints(const std::filesystem::path& run_folder);

/// The newest complete checkpoint, or nothing. What a dead run left half way is put right first.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& run_folder);

/// Everything but weights and moments. Error{corrupt_input} naming file and key.
TrainerState read_state(const std::filesystem::path& checkpoint);

/// Error{corrupt_input} unless the checkpoint is complete and, reading it all, as it was written: names
/// the file and the newest complete checkpoint beside it.
void check_checkpoint(const std::filesystem::path& checkpoint);

/// `read_state` of a checkpoint to resume from: Error{usage} naming each setting that is not as in
/// `settings`.
TrainerState read_state_to_resume(const std::filesystem::path& checkpoint, const Json& settings);

/// Puts weights and moments back.
void load_checkpoint(const std::filesystem::path& checkpoint, Engine& engine, const RunIdentity& identity);

}  // namespace lemnos::train
