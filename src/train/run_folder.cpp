#include "train/run_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/error.h"
#include "base/log.h"
#include "io/completion_marker.h"
#include "io/file.h"
#include "io/folder_kind.h"

namespace lemnos::train {
namespace {

namespace fs = std::filesystem;

constexpr FolderKind kCheckpointFolder{"trainer_state.json", "a checkpoint folder"};

/// The folder itself, or the one above it that is there already.
fs::path nearest_existing(const fs::path& path) {
  fs::path at = fs::absolute(path).lexically_normal();
  std::error_code unknown;
  while (!fs::exists(at, unknown) && at != at.parent_path()) at = at.parent_path();
  return at;
}

void check_writable(const fs::path& folder) {
  const fs::path existing = nearest_existing(folder);
  std::error_code unknown;
  if (!fs::is_directory(existing, unknown))
    fail(ErrorKind::io, "output_dir {}: {} is a file, expected a folder; choose another", folder.string(), existing.string());
  // Permissions alone do not tell (root, read-only and virtual file systems).
  std::string probe = (existing / ".lemnos-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) fail_io("write into", existing, errno);
  ::rmdir(probe.c_str());
}

/// AtomicDir would refuse to replace it, when the step is reached.
void refuse_foreign_checkpoints(const fs::path& run_folder) {
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(run_folder, absent))
    if (step_of(entry.path()) && !fs::is_empty(entry.path(), absent) && !fs::exists(entry.path() / kMarkerName))
      fail(ErrorKind::usage, "{} was not written by this program and is in the way of its checkpoints; choose another output_dir",
           entry.path().string());
}

/// Whether one of the two states is a later one of the run that the other belongs to.
bool same_run(const TrainerState& a, const TrainerState& b) {
  if (!(a.settings == b.settings)) return false;
  const Json::Array &x = a.history.as_array(), &y = b.history.as_array();
  return std::equal(x.begin(), x.begin() + static_cast<ptrdiff_t>(std::min(x.size(), y.size())), y.begin());
}

}  // namespace

void check_run_folder(const TrainConfig& config) {
  check_writable(config.output_dir);
  std::error_code absent;
  const auto is_output = [&](const fs::path& folder) { return fs::equivalent(folder, config.output_dir, absent); };
  if ((config.model_name_or_path && is_output(*config.model_name_or_path)) ||
      (config.init_from_config && is_output(parent_folder(*config.init_from_config))))
    fail(ErrorKind::usage, "output_dir {} is the model's own folder, which the run would overwrite; choose another",
         config.output_dir);
  refuse_foreign_checkpoints(config.output_dir);
  if (config.resume_from_checkpoint || !newest_checkpoint(config.output_dir)) return;
  fail(ErrorKind::usage, "{} holds checkpoints of an earlier run; continue it with --resume-from-checkpoint auto, or choose another output_dir",
       config.output_dir);
}

std::optional<fs::path> checkpoint_to_resume(const TrainConfig& config) {
  if (!config.resume_from_checkpoint) return std::nullopt;
  if (*config.resume_from_checkpoint != "auto") {
    in_place("resume_from_checkpoint", [&] { require_folder(*config.resume_from_checkpoint, kCheckpointFolder); });
    return fs::path(*config.resume_from_checkpoint);
  }
  auto newest = newest_checkpoint(config.output_dir);
  if (!newest) log_info("no complete checkpoint in {}: starting from the beginning", config.output_dir);
  return newest;
}

void OwnCheckpoints::resume(const fs::path& checkpoint, const TrainerState& state) {
  std::error_code absent;
  const bool inside = fs::equivalent(fs::absolute(checkpoint).lexically_normal().parent_path(), run_folder_, absent);
  for (const auto& [step, folder] : complete_checkpoints(run_folder_)) {
    if (step > state.max_steps) continue;
    const bool own = same_run(read_state(folder), state);
    if (step > state.global_step && !own)
      fail(ErrorKind::usage, "{} is of another run, and this one, resumed at step {}, would replace it; choose another output_dir",
           folder.string(), state.global_step);
    if (step <= state.global_step && own && inside) steps_.push_back(step);
  }
}

void OwnCheckpoints::rotate(int64_t keep) {
  while (steps_.size() > static_cast<size_t>(keep)) {
    const fs::path oldest = checkpoint_folder(run_folder_, steps_.front());
    with_io_errors([&] { fs::remove_all(oldest); });
    steps_.erase(steps_.begin());
    log_debug("removed {}", oldest.string());
  }
}

}  // namespace lemnos::train
