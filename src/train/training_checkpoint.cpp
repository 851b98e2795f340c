#include "train/training_checkpoint.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "io/atomic_dir.h"
#include "io/completion_marker.h"
#include "io/file.h"
#include "train/weights.h"

namespace lemnos::train {
namespace {

constexpr int64_t kFormat = 1;

/// States that an optimizer step leaves behind.
std::vector<const Value*> moments(const Graph& graph) {
  std::vector<const Value*> found;
  for (const ValueId id : graph.of_kind(ValueKind::state))
    if (graph[id].name.starts_with("adam/")) found.push_back(&graph[id]);
  return found;
}

void write_moments(const std::filesystem::path& folder, Engine& engine) {
  std::vector<TensorSource> sources;
  for (const Value* value : moments(engine.graph()))
    sources.push_back(only_finite({{value->name, FileDType::F32, value->type.shape},
                                   [&engine, name = value->name](const ByteSink& sink) { sink(engine.storage().read(name)); }}));
  write_checkpoint(folder, sources, {.stem = "optimizer"});
}

void read_moments(const std::filesystem::path& folder, Engine& engine) {
  const Checkpoint stored = Checkpoint::open(folder, "optimizer");
  for (const Value* value : moments(engine.graph())) {
    const TensorView& view = stored.view(value->name);
    if (view.dtype != FileDType::F32 || view.shape != value->type.shape)
      fail(ErrorKind::corrupt_input, "{}: {} is not the moment of this run's parameter", folder.string(), value->name);
    engine.storage().write(value->name, view.bytes);
  }
}

Json state_json(const TrainerState& state) {
  Json out;
  out.set("format", kFormat);
  out.set("global_step", state.global_step);
  out.set("epoch", state.epoch);
  out.set("max_steps", state.max_steps);
  out.set("log_history", state.history);
  out.set("cursor", state.cursor);
  out.set("settings", state.settings);
  out.set("logged_loss_sum", state.logged_loss_sum);
  out.set("logged_tokens", state.logged_tokens);
  return out;
}

TrainerState parse_state(const Json& json) {
  if (json.at("format").as_integer() != kFormat)
    fail(ErrorKind::unsupported, "format {}, this program reads {}", json.at("format").as_integer(), kFormat);
  TrainerState state;
  state.global_step = json.at("global_step").as_integer();
  state.epoch = json.at("epoch").as_number();
  state.max_steps = json.at("max_steps").as_integer();
  state.history = json.at("log_history");
  state.cursor = json.at("cursor");
  state.settings = json.at("settings");
  state.logged_loss_sum = json.at("logged_loss_sum").as_number();
  state.logged_tokens = json.at("logged_tokens").as_integer();
  return state;
}

void refuse_changed_settings(const std::filesystem::path& checkpoint, const Json& saved, const Json& now) {
  std::string changed;
  for (const auto& [key, value] : now.as_object()) {
    const Json* before = saved.find(key);
    if (before == nullptr || !(*before == value))
      changed += format("\n  {}: {} in the checkpoint, {} now", key, before ? before->dump() : "absent", value.dump());
  }
  if (!changed.empty())
    fail(ErrorKind::usage, "cannot resume from {} with other settings:{}\nUse the same settings, or start a new run.",
         checkpoint.string(), changed);
}

/// The newest complete checkpoint beside a damaged one, as a sentence.
std::string advice_about_others(const std::filesystem::path& damaged) {
  const std::filesystem::path whole = std::filesystem::absolute(damaged).lexically_normal();
  const std::filesystem::path named = whole.has_filename() ? whole : whole.parent_path();
  const int64_t step = step_of(named).value_or(0);
  std::string advice;
  for (const auto& [other, folder] : complete_checkpoints(named.parent_path()))
    if (other != step)
      advice = format("; move it away and continue from {}: --resume-from-checkpoint {}",
                      other < step ? "the newest one before it" : "the newest complete one", folder.string());
  return advice;
}

Checkpoints checkpoints_in(const std::filesystem::path& run_folder, bool complete) {
  Checkpoints found;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder, absent)) {
    const auto step = step_of(entry.path());
    if (step && entry.is_directory(absent) && is_complete(entry.path()) == complete) found.emplace_back(*step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::filesystem::path checkpoint_folder(const std::filesystem::path& run_folder, int64_t step) {
  return run_folder / format("checkpoint-{}", step);
}

std::optional<int64_t> step_of(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  constexpr std::string_view kPrefix = "checkpoint-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc() || stop != end) return std::nullopt;
  return step;
}

void save_checkpoint(const std::filesystem::path& run_folder, Engine& engine, const RunIdentity& identity,
                     const TrainerState& state) {
  AtomicDir folder(checkpoint_folder(run_folder, state.global_step));
  write_model_files(folder.stage(), engine, identity);
  write_moments(folder.stage(), engine);
  write_file_atomic(folder.stage() / "trainer_state.json", state_json(state).dump(2) + "\n");
  folder.commit();
}

Checkpoints complete_checkpoints(const std::filesystem::path& run_folder) { return checkpoints_in(run_folder, true); }
Checkpoints incomplete_checkpoints(const std::filesystem::path& run_folder) { return checkpoints_in(run_folder, false); }

std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& run_folder) {
  std::error_code absent;
  std::vector<std::filesystem::path> names;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder, absent))
    if (step_of(entry.path())) names.push_back(entry.path());
  for (const auto& name : names) recover_atomic_dir(name);
  const auto found = complete_checkpoints(run_folder);
  if (found.empty()) return std::nullopt;
  return found.back().second;
}

TrainerState read_state(const std::filesystem::path& checkpoint) {
  const std::filesystem::path file = checkpoint / "trainer_state.json";
  const Json json = Json::parse(read_file(file), file.string());
  return in_place(file.string(), [&] { return parse_state(json); });
}

void check_checkpoint(const std::filesystem::path& checkpoint) {
  const std::filesystem::path marker = checkpoint / kMarkerName;
  try {
    if (!std::filesystem::exists(marker))
      fail(ErrorKind::corrupt_input, "{} is missing, which this program writes last: the checkpoint was not finished, or is not its own",
           marker.string());
    verify_complete(checkpoint);
  } catch (const Error& error) {
    fail(error.kind(), "cannot resume from {}: {}{}", checkpoint.string(), error.what(), advice_about_others(checkpoint));
  }
}

TrainerState read_state_to_resume(const std::filesystem::path& checkpoint, const Json& settings) {
  TrainerState state = read_state(checkpoint);
  refuse_changed_settings(checkpoint, state.settings, settings);
  return state;
}

void load_checkpoint(const std::filesystem::path& checkpoint, Engine& engine, const RunIdentity& identity) {
  if (identity.adapter)
    load_adapter(engine.storage(), engine.graph(), Checkpoint::open_adapter(checkpoint));
  else
    load_weights(engine.storage(), engine.graph(), identity.model, Checkpoint::open(checkpoint));
  read_moments(checkpoint, engine);
}

}  // namespace lemnos::train
