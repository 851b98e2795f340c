#include "base/error.h"
#include "cli/command.h"
#include "cli/train_arguments.h"
#include "runtime/profile.h"
#include "train/session.h"
#include "vk/device.h"

namespace lemnos::cli {
namespace {

/// The profile of the device that `train` would use; its properties are asked, no memory is taken.
DeviceProfile profile_for(const train::TrainConfig& config) {
  const vk::DeviceInfo info = vk::select_device(config.device.value_or(config.use_cpu ? "cpu" : ""));
  return profile_of(info, vk::uses_cpu_path(info, {}));
}

std::string mebibytes(int64_t bytes) { return format("{:>12.2f} MiB", static_cast<double>(bytes) / (1 << 20)); }

int run_plan(const Arguments& arguments) {
  const train::TrainConfig config = train_config_of(arguments);
  const DeviceProfile profile = profile_for(config);
  const train::PlanReport report = train::plan_training(config, profile);
  if (arguments.json()) {
    Json out = train::to_json(report);
    out.set("device", profile.name);
    print_json(out);
    return 0;
  }
  print_line(format("device profile       {}", profile.name));
  for (const auto& [kind, bytes] : report.plan.bytes_by_kind()) print_line(format("{:<20}{}", kind, mebibytes(bytes)));
  print_line(format("{:<20}{}  (the driver's own overhead is not counted)", "peak", mebibytes(report.plan.peak_bytes())));
  print_line(format("trainable parameters {} of {}", report.plan.trainable_parameters, report.plan.base_parameters));
  print_line(format("steps                {}", report.total_steps));
  for (const Bucket& bucket : report.buckets) print_line(format("micro-batch shape    {} x {}", bucket.rows, bucket.length));
  if (!report.plan.targets.empty()) print_line(format("LoRA modules         {}", report.plan.targets.size()));
  for (const ModuleInfo& module : report.plan.targets) print_line("  " + module.name);
  return 0;
}

}  // namespace

extern const Command kCommand_plan;
const Command kCommand_plan{.name = "plan",
                            .summary = "The exact memory, modules and steps of a training run, without running it",
                            .options = train_options(),
                            .run = run_plan,
                            .any_option = true};

}  // namespace lemnos::cli
