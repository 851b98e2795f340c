#include "train/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
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
    if (step_of(entry.path()) && !fs::is_empty(entry.path(), absent) && !fs::exists(entry.path() / kMarkerName, absent))
      fail(ErrorKind::usage,
           "{} is no complete checkpoint of this program (it has no {}) and is in the way of the run's own; move it away or "
           "choose another output_dir",
           entry.path().string(), kMarkerName);
}

/// What a run leaves at its end, and whoever else has put there what carries these names.
void refuse_finished_model(const fs::path& run_folder) {
  std::error_code absent;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "adapter_model.safetensors",
                           "adapter_model.safetensors.index.json", "config.json", "adapter_config.json"})
    if (fs::exists(run_folder / name, absent))
      fail(ErrorKind::usage, "output_dir {} holds a model or adapter already ({}); choose another, or move it away",
           run_folder.string(), name);
}

/// Whether one of the two states is a later one of the run that the other belongs to.
bool same_run(const TrainerState& a, const TrainerState& b) {
  if (!(a.settings == b.settings)) return false;
  const Json::Array &x = a.history.as_array(), &y = b.history.as_array();
  return std::equal(x.begin(), x.begin() + static_cast<ptrdiff_t>(std::min(x.size(), y.size())), y.begin());
}

void check_run_folder(const TrainConfig& config, bool has_checkpoints) {
  check_writable(config.output_dir);
  std::error_code absent;
  const auto is_output = [&](const fs::path& folder) { return fs::equivalent(folder, config.output_dir, absent); };
  const fs::path random = config.init_from_config.value_or("");
  if ((config.model_name_or_path && is_output(*config.model_name_or_path)) || is_output(random) ||
      (config.init_from_config && is_output(parent_folder(random))))
    fail(ErrorKind::usage, "output_dir {} is the model's own folder, which the run would overwrite; choose another",
         config.output_dir);
  refuse_foreign_checkpoints(config.output_dir);
  if (!has_checkpoints) refuse_finished_model(config.output_dir);
  if (config.resume_from_checkpoint || !has_checkpoints) return;
  fail(ErrorKind::usage, "{} holds checkpoints of an earlier run; continue it with --resume-from-checkpoint auto, or choose another output_dir",
       config.output_dir);
}

fs::path named_checkpoint(const std::string& folder) {
  in_place("resume_from_checkpoint", [&] { require_folder(folder, kCheckpointFolder); });
  check_checkpoint(folder);
  return folder;
}

}  // namespace

void check_run_folder(const TrainConfig& config) {
  check_run_folder(config, newest_checkpoint(config.output_dir).has_value());
}

std::optional<fs::path> checkpoint_of_plan(const TrainConfig& config) {
  const Checkpoints complete = complete_checkpoints(config.output_dir);
  check_run_folder(config, !complete.empty());
  if (!config.resume_from_checkpoint) return std::nullopt;
  if (*config.resume_from_checkpoint != "auto") return named_checkpoint(*config.resume_from_checkpoint);
  if (complete.empty()) return std::nullopt;
  check_checkpoint(complete.back().second);
  return complete.back().second;
}

RunFolder::RunFolder(const fs::path& folder) {
  std::error_code unknown;
  for (fs::path at = fs::absolute(folder).lexically_normal(); !fs::exists(at, unknown) && at != at.parent_path(); at = at.parent_path())
    made_.insert(made_.begin(), at);
  with_io_errors([&] { fs::create_directories(folder); });
}

RunFolder::~RunFolder() {
  for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder) ::rmdir(folder->c_str());  // not what holds something
}

RunLock::RunLock(const fs::path& run_folder) {
  folder_ = ::open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) fail_io("open", run_folder, errno);
  if (::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;  // some file systems have no locks
  ::close(folder_);
  fail(ErrorKind::usage, "another run is writing into output_dir {}; choose another", run_folder.string());
}

RunLock::~RunLock() { ::close(folder_); }

std::optional<fs::path> checkpoint_to_resume(const TrainConfig& config) {
  if (config.resume_from_checkpoint && *config.resume_from_checkpoint != "auto")
    return named_checkpoint(*config.resume_from_checkpoint);
  for (const auto& [step, folder] : incomplete_checkpoints(config.output_dir))
    log_warning("{} is not complete and is passed over", folder.string());
  if (!config.resume_from_checkpoint) return std::nullopt;
  auto newest = newest_checkpoint(config.output_dir);
  if (newest)
    check_checkpoint(*newest);
  else
    log_info("no complete checkpoint in {}: starting from the beginning", config.output_dir);
  return newest;
}

void OwnCheckpoints::resume(const fs::path& checkpoint, const TrainerState& state) {
  std::error_code absent;
  const bool inside = fs::equivalent(checkpoint / "..", run_folder_, absent);
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
