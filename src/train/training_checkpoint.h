#pragma once

#include <filesystem>
#include <optional>
#include <string>

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

/// Writes a complete checkpoint or nothing: model files, optimizer.safetensors (moments) and
/// trainer_state.json, through AtomicDir. An existing checkpoint of that step is replaced.
void save_checkpoint(const std::filesystem::path& run_folder, Engine& engine, const RunIdentity& identity,
                     const TrainerState& state);

/// The newest complete checkpoint, or nothing. Incomplete ones are passed over with a note in the log.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& run_folder);

/// Restores weights and moments; returns the rest. Error{usage} naming each setting that differs.
TrainerState load_checkpoint(const std::filesystem::path& checkpoint, Engine& engine, const RunIdentity& identity,
                             const Json& settings);

/// Removes the oldest complete checkpoints of this run's folder beyond `keep`, never `newest`.
void rotate_checkpoints(const std::filesystem::path& run_folder, int64_t keep, int64_t newest);

}  // namespace lemnos::train
