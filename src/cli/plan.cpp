#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "cli/command.h"
#include "cli/train_arguments.h"
#include "runtime/profile.h"
#include "train/memory_limit.h"
#include "train/recompute_plan.h"
#include "train/session.h"
#include "train/train_config_options.h"
#include "vk/device.h"

namespace lemnos::cli {
namespace {

/// The profile of the device that `train` would use; its properties are asked, no memory is taken.
DeviceProfile profile_for(const train::TrainConfig& config) {
  const vk::DeviceInfo info = vk::select_device(config.device.value_or(config.use_cpu ? "cpu" : ""));
  return profile_of(info, vk::uses_cpu_path(info, {}));
}

/// "q_proj, v_proj in 24 layers: 48 modules".
std::string summary_of(const std::vector<ModuleInfo>& modules) {
  std::set<std::string> leaves, layers;
  for (const ModuleInfo& module : modules) {
    leaves.insert(module.name.substr(module.name.rfind('.') + 1));
    if (const size_t at = module.name.find("layers."); at != std::string::npos)
      layers.insert(module.name.substr(0, module.name.find('.', at + std::string_view("layers.").size())));
  }
  std::string text;
  for (const std::string& leaf : leaves) text += (text.empty() ? "" : ", ") + leaf;
  return text + format(" in {}: {}", counted(static_cast<int64_t>(layers.size()), "layer"),
                       counted(static_cast<int64_t>(modules.size()), "module"));
}

void print(const train::PlanReport& report, const DeviceProfile& profile, bool with_modules) {
  print_line(format("device profile       {}", profile.name));
  for (const auto& [kind, bytes] : report.plan.bytes_by_kind()) print_line(format("{:<20} {:>12}", kind, byte_text(bytes)));
  print_line(format("{:<20} {:>12}  (the driver's own overhead is not counted)", "peak", byte_text(report.plan.peak_bytes())));
  if (const std::string again = to_string(report.plan.recomputed()); !again.empty())
    print_line(format("made again           {}", again));
  print_line(format("trainable parameters {} of {}", report.plan.trainable_parameters, report.plan.base_parameters));
  print_line(format("steps                {}", report.total_steps));
  for (const Bucket& bucket : report.buckets) print_line(format("micro-batch shape    {} x {}", bucket.rows, bucket.length));
  if (report.plan.targets.empty()) return;
  print_line(format("LoRA modules         {} (r={})", summary_of(report.plan.targets), report.rank));
  if (!with_modules) return;
  for (const ModuleInfo& module : report.plan.targets) print_line("  " + module.name);
}

int run_plan(const Arguments& arguments) {
  const train::TrainConfig config = train_config_of(arguments);
  const DeviceProfile profile = profile_for(config);
  const train::PlanReport report = train::plan_training(config, profile);
  const std::optional<std::string> too_large = train::why_too_large(report.plan, config, profile);
  if (arguments.json()) {
    Json out = train::to_json(report);
    out.set("device", profile.name);
    out.set("fits", !too_large);
    print_json(out);
  } else {
    print(report, profile, arguments.has("--modules"));
  }
  for (const std::string& refusal : report.refusals) log_warning("`lemnos train` would refuse this: {}", refusal);
  if (!too_large) return 0;
  log_message(LogLevel::error, *too_large);  // the plan, not this, is the document of --json
  return exit_code(ErrorKind::out_of_memory);
}

std::vector<OptionSpec> plan_options() {
  std::vector<OptionSpec> options = train_options();
  options.push_back({"--modules", "list every module that gets an adapter", OptionSpec::Kind::flag});
  return options;
}

}  // namespace

extern const Command kCommand_plan;
const Command kCommand_plan{.name = "plan",
                            .summary = "The exact memory, modules and steps of a training run, without running it",
                            .options = plan_options(),
                            .run = run_plan,
                            .any_option = true,
                            .more_help = train::options_help};

}  // namespace lemnos::cli
