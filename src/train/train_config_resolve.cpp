#include <cmath>

#include "base/error.h"
#include "train/train_config_values.h"

namespace lemnos::train {
namespace {

/// As it was given, or the key alone when it was not.
std::string named(const TrainConfig& config, std::string_view key) {
  const auto given = config.given.find(key);
  return given == config.given.end() ? std::string(key) : named(given->second, key);
}

bool is_given(const TrainConfig& config, std::string_view key) {
  return config.given.contains(key);
}

void imply(TrainConfig& config, const char* key, std::string_view by) {
  config.given[key] = {SettingSource::implied, std::string(by)};
}

/// Of two options that contradict each other a flag wins over the file: then `loser` is as if it had
/// not been given.
bool overrules(TrainConfig& config, std::string_view winner, std::string_view loser) {
  const auto source = [&](std::string_view key) {
    const auto given = config.given.find(key);
    return given == config.given.end() ? SettingSource::implied : given->second.source;
  };
  if (source(winner) != SettingSource::flag || source(loser) != SettingSource::file) return false;
  config.notes.push_back(format("{} has no effect: {} is given on the command line", named(config, loser), flag_name(winner)));
  reset(config, *find_option(loser));
  return true;
}

bool one_overrules(TrainConfig& config, std::string_view a, std::string_view b) {
  return overrules(config, a, b) || overrules(config, b, a);
}

void resolve_peft(TrainConfig& config) {
  if (is_given(config, "lora_r") && config.lora_parameter_budget &&
      !one_overrules(config, "lora_r", "lora_parameter_budget"))
    fail(ErrorKind::usage, "{} and {} exclude each other: the budget chooses the rank",
         named(config, "lora_r"), named(config, "lora_parameter_budget"));
  for (const Option& option : applied_options()) {
    if (!option.key.starts_with("lora_") || !is_given(config, option.key)) continue;
    if (is_given(config, "use_peft") && !config.use_peft) {
      if (overrules(config, "use_peft", option.key)) continue;
      if (!overrules(config, option.key, "use_peft"))
        fail(ErrorKind::usage, "{} asks for an adapter and {} is false; remove one of them",
             named(config, option.key), named(config, "use_peft"));
    }
    if (!config.use_peft) imply(config, "use_peft", option.key);
    config.use_peft = true;
  }
}

void resolve_warmup(TrainConfig& config) {
  if (config.warmup_steps > 0 && config.warmup_ratio > 0 && !one_overrules(config, "warmup_steps", "warmup_ratio"))
    fail(ErrorKind::usage, "{} and {} say the same thing twice; give one",
         named(config, "warmup_steps"), named(config, "warmup_ratio"));
  const bool warms_up = config.warmup_steps > 0 || config.warmup_ratio > 0;
  const char* const key = config.warmup_steps > 0 ? "warmup_steps" : "warmup_ratio";
  if (warms_up && config.lr_scheduler_type == LrSchedulerType::constant && !overrules(config, "lr_scheduler_type", key))
    fail(ErrorKind::usage, "{}: the schedule \"constant\" has no warmup; use constant_with_warmup", named(config, key));
}

void check_whole_steps(const TrainConfig& config, std::string_view key, double value) {
  constexpr double kMostSteps = 1e15;
  if ((value >= 1 && value != std::floor(value)) || value > kMostSteps)
    fail(ErrorKind::usage,
         "{} is {}, expected a whole number of steps, or a part of the run below 1",
         named(config, key), value);
}

void resolve_length(TrainConfig& config) {
  if (config.max_steps == 0)
    fail(ErrorKind::usage, "{} is 0, which trains nothing; -1 leaves it to num_train_epochs",
         named(config, "max_steps"));
  if (config.max_steps > 0 && is_given(config, "num_train_epochs"))
    config.notes.push_back("max_steps wins over num_train_epochs, which has no effect");
  check_whole_steps(config, "warmup_steps", config.warmup_steps);
  check_whole_steps(config, "logging_steps", config.logging_steps);
  check_whole_steps(config, "save_steps", config.save_steps);
  if (config.save_strategy != SaveStrategy::steps && is_given(config, "save_steps"))
    config.notes.push_back("save_steps has no effect, as save_strategy is not \"steps\"");
}

void resolve_device(TrainConfig& config) {
  if (!config.use_cpu) return;
  if (config.device && *config.device != "cpu" && overrules(config, "device", "use_cpu")) return;
  if (config.device && *config.device != "cpu" && !overrules(config, "use_cpu", "device"))
    fail(ErrorKind::usage, "{} is true and {} is \"{}\"; give one", named(config, "use_cpu"),
         named(config, "device"), *config.device);
  if (!config.device) imply(config, "device", "use_cpu");
  config.device = "cpu";
}

/// Transformers takes a boolean too, and true means the newest checkpoint.
void resolve_resume(TrainConfig& config) {
  std::optional<std::string>& from = config.resume_from_checkpoint;
  if (from == "true" || from == "True") from = "auto";
  if (from == "false" || from == "False") from.reset();
}

}  // namespace

void resolve(TrainConfig& config) {
  resolve_peft(config);
  resolve_warmup(config);
  resolve_length(config);
  resolve_device(config);
  resolve_resume(config);
}

void require_complete(const TrainConfig& config) {
  if (!config.model_name_or_path && !config.init_from_config)
    fail(ErrorKind::usage,
         "no model is given; add model_name_or_path (a folder in Hugging Face layout), or "
         "init_from_config to start from random weights");
  if (config.dataset_name.empty())
    fail(ErrorKind::usage, "no data is given; add dataset_name (a JSONL file or a folder of them)");
}

LrSchedule TrainConfig::lr_schedule(int64_t total_steps) const {
  const double warmup = warmup_steps > 0 ? warmup_steps : warmup_ratio;
  return {lr_scheduler_type, learning_rate, steps_of(warmup, total_steps), total_steps};
}

}  // namespace lemnos::train
