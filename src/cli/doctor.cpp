#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/plural.h"
#include "cli/command.h"
#include "cli/train_arguments.h"
#include "doctor/default_shapes.h"
#include "doctor/kernel_check.h"
#include "doctor/math_check.h"
#include "io/folder_kind.h"
#include "runtime/profile.h"
#include "train/session.h"

namespace lemnos::cli {
namespace {

constexpr int kRepeats = 20;
constexpr int64_t kLoraRank = 16;

/// Full training, LoRA with dropout on f32 and LoRA on bf16 weights.
std::vector<EnginePlan> plans_for(const ModelConfig& model, const DeviceProfile& device) {
  EngineSetup setup{.model = model, .buckets = {device.is_cpu ? Bucket{1, 512, 2} : Bucket{4, 1024, 8}}};
  std::vector<EnginePlan> plans{plan_engine(setup, device)};
  setup.lora = LoraConfig{.r = kLoraRank, .lora_alpha = 2.0 * kLoraRank, .lora_dropout = 0.05};
  std::vector<std::string> modules{"q_proj", "k_proj", "v_proj", "o_proj"};
  if (model.num_experts == 0) modules.insert(modules.end(), {"gate_proj", "up_proj", "down_proj"});
  setup.lora->target_modules = {std::move(modules)};
  plans.push_back(plan_engine(setup, device));
  const PlannedGraph& lora = plans.back().training.front();
  for (const ValueId id : lora.graph.of_kind(ValueKind::parameter))
    if (const Value& value = lora.graph[id]; !value.trainable && value.type.shape.size() > 1) setup.dtypes[value.name] = DType::bf16;
  plans.push_back(plan_engine(setup, device));
  return plans;
}

std::vector<EnginePlan> default_plans(const DeviceProfile& device) {
  std::vector<EnginePlan> plans;
  for (const doctor::DefaultShape& shape : doctor::default_shapes())
    for (EnginePlan& plan : plans_for(read_model_config(Json::parse(shape.text, shape.file), shape.file), device))
      plans.push_back(std::move(plan));
  return plans;
}

std::vector<EnginePlan> plans_of(const Arguments& arguments, const std::optional<train::TrainConfig>& config, const DeviceProfile& device) {
  if (config) return {train::plan_training(*config, device).plan};
  if (const auto model = arguments.get("MODEL")) return plans_for(read_model_config(config_file(*model)), device);
  return default_plans(device);
}

std::string device_selector(const Arguments& arguments, const std::optional<train::TrainConfig>& config) {
  if (const auto chosen = arguments.get("--device")) return *chosen;
  if (config && config->device) return *config->device;
  return config && config->use_cpu ? "cpu" : "";
}

std::string verdict(const doctor::CheckedCase& c) {
  if (c.not_checked) return "NOT CHECKED";
  return c.ok() ? "ok" : c.finding.no_answer ? "NOT FINITE" : "FAILED";
}

std::string extent_of(const doctor::CheckedCase& c) {
  if (c.not_checked) return "-";
  return format("{} {}", c.finding.compared, c.kernel_case.sampled ? "sampled" : "all");
}

void print(const doctor::KernelReport& report) {
  print_line(format("{:<28}{:<12}{:>18}{:>10}  {}", "op", "", "elements", "of bound", "sizes, kernels"));
  for (const doctor::CheckedCase& c : report.cases) {
    std::string kernels;
    for (const std::string& kernel : c.kernel_case.kernels) kernels += " " + kernel;
    print_line(format("{:<28}{:<12}{:>18}{:>10.3f}  {};{}", c.kernel_case.op->name, verdict(c), extent_of(c), c.finding.worst,
                      c.kernel_case.sizes_text(), kernels));
    if (!c.finding.fault.empty()) print_line("    " + c.finding.fault);
  }
}

void print(const std::vector<doctor::FunctionError>& functions) {
  print_line(format("{:<12}{:>12}{:>12}  {}", "function", "worst", "bound", "unit"));
  for (const doctor::FunctionError& f : functions)
    print_line(format("{:<12}{:>12.3g}{:>12.3g}  {}{}", f.name, f.worst, f.bound, f.unit, f.ok() ? "" : format("  FAILED at {}", f.at)));
}

void print(const vk::Device& device, const doctor::KernelReport& report, const std::vector<doctor::FunctionError>& functions, bool ok) {
  print(functions);
  print_line("");
  print(report);
  print_line(format("{} ({}): {} in {}, each run {} times, {:.1f} s: {}", device.info().name, device.info().driver,
                    counted(report.kernels(), "kernel"), counted(std::ssize(report.cases), "case"), kRepeats, report.seconds,
                    ok ? "all right" : "NOT all right"));
}

Json to_json(const vk::Device& device, const doctor::KernelReport& report, const std::vector<doctor::FunctionError>& functions, bool ok) {
  Json out;
  out.set("device", device.info().name);
  out.set("driver", device.info().driver);
  out.set("version", LEMNOS_VERSION);
  out.set("path", device.cpu_path() ? "cpu" : "gpu");
  out.set("ok", ok);
  out.set("seconds", report.seconds);
  out.set("runs", kRepeats);
  out.set("functions", doctor::to_json(functions));
  out.set("cases", doctor::to_json(report));
  return out;
}

int run_doctor(const Arguments& arguments) {
  const bool gpu_path = arguments.has("--gpu-path");
  if (arguments.has("--config") && arguments.has("MODEL")) fail(ErrorKind::usage, "a MODEL or the -c FILE of a run, not both");
  std::optional<train::TrainConfig> config;
  if (arguments.has("--config")) config = train_config_of(arguments);
  const auto device = vk::Device::open(device_selector(arguments, config), {.force_gpu_path = gpu_path});
  const std::vector<EnginePlan> plans = plans_of(arguments, config, profile_of(*device));
  std::vector<const Graph*> graphs;
  for (const EnginePlan& plan : plans)
    for (const PlannedGraph& planned : plan.training) graphs.push_back(&planned.graph);
  const doctor::KernelReport report = doctor::check_kernels(*device, graphs, {.runs = kRepeats, .remember = false});
  vk::PipelineCache pipelines(*device);
  const std::vector<doctor::FunctionError> functions = doctor::check_functions(*device, pipelines);
  const bool ok = report.failed() == 0 && std::all_of(functions.begin(), functions.end(), [](const auto& f) { return f.ok(); });
  if (arguments.json())
    print_json(to_json(*device, report, functions, ok));
  else
    print(*device, report, functions, ok);
  return ok ? 0 : exit_code(ErrorKind::device);
}

}  // namespace

extern const Command kCommand_doctor;
const Command kCommand_doctor{
    .name = "doctor",
    .summary = "Every kernel on this driver against the reference in double",
    .options = {{"MODEL", "folder or config.json of the model to be trained (default: a set of shapes)"},
                {"-c,--config", "the run's YAML file: its very shapes are checked"},
                kDeviceOption,
                {"--gpu-path", "the GPU's kernels, also on a CPU device", OptionSpec::Kind::flag}},
    .run = run_doctor};

}  // namespace lemnos::cli
