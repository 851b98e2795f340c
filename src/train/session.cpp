#include "train/session.h"

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "doctor/kernel_check.h"
#include "io/file.h"
#include "train/loop.h"
#include "train/memory_limit.h"
#include "train/metrics.h"
#include "train/recompute_plan.h"
#include "train/run_folder.h"
#include "train/training_checkpoint.h"
#include "train/weights.h"
#include "vk/device.h"

namespace lemnos::train {
namespace {

std::string device_selector(const TrainConfig& config) {
  if (config.device) return *config.device;
  return config.use_cpu ? "cpu" : "";
}

void check_memory(const EnginePlan& plan, const TrainConfig& config, const DeviceProfile& device) {
  if (const auto why = why_too_large(plan, config, device))
    fail(ErrorKind::out_of_memory, "{} (`lemnos plan` shows where the memory goes)", *why);
}

EnginePlan plan_run(const Prepared& p, const DeviceProfile& device) {
  EngineSetup setup = p.setup;
  setup.memory_limit = memory_limit_of(p.config, device);
  return plan_engine(setup, device);
}

void fill_weights(Engine& engine, const Prepared& p) {
  const auto seed = static_cast<uint64_t>(p.config.seed);
  if (p.weights)
    load_weights(engine.storage(), engine.graph(), p.identity.model, *p.weights);
  else
    initialise_weights(engine.storage(), engine.graph(), p.identity.model, seed);
  if (p.identity.adapter) initialise_adapter(engine.storage(), engine.graph(), seed);
}

Json to_json(const Recomputed& recomputed) {
  Json ops = Json::object();
  for (const auto& [op, count] : recomputed.ops) ops.set(op, count);
  return Json::Object{{"layers", recomputed.layers}, {"ops", ops}, {"more_flops", recomputed.share}};
}

Json applied_json(const Prepared& p, const EnginePlan& plan, const vk::Device& device) {
  Json applied = to_json(p.config);
  Json targets = Json::array();
  for (const ModuleInfo& module : plan.targets) targets.push_back(module.name);
  applied.set("model_type", p.identity.model.family->model_type);
  applied.set("target_modules", std::move(targets));
  if (p.identity.adapter) applied.set("lora_r", p.identity.adapter->lora.r);
  applied.set("trainable_parameters", plan.trainable_parameters);
  applied.set("base_parameters", plan.base_parameters);
  applied.set("peak_bytes", plan.peak_bytes());
  applied.set("recompute", to_json(plan.recomputed()));
  applied.set("device", device.info().name);
  applied.set("driver", device.info().driver);
  applied.set("kernels", device.cpu_path() ? "cpu" : "gpu");
  applied.set("version", LEMNOS_VERSION);
  applied.set("proof", proof::to_json(p.proof));
  applied.set("data", data::to_json(p.dataset.report));
  return applied;
}

/// The programs' kernels on this device and driver, once: a kernel that fails ends the run.
void check_kernels(const EnginePlan& plan, vk::Device& device) {
  std::vector<const Graph*> graphs;
  for (const PlannedGraph& planned : plan.training) graphs.push_back(&planned.graph);
  doctor::require_sound_kernels(device, graphs);
}

void log_plan(const Prepared& p, const EnginePlan& plan, const vk::Device& device) {
  log_info("device: {} ({})", device.info().name, device.info().driver);
  log_info("training {} of {} parameters{}, {}, {} of device memory", plan.trainable_parameters,
           plan.base_parameters, p.setup.lora ? format(" (LoRA r={} on {})", p.setup.lora->r, counted(std::ssize(plan.targets), "module")) : std::string(),
           counted(p.total_steps, "step"), byte_text(plan.peak_bytes()));
  if (const std::string again = to_string(plan.recomputed()); !again.empty())
    log_info("made again in the backward pass, to save memory: {}", again);
}

/// What `run_training` would refuse besides what `prepare` does.
std::vector<std::string> refusals_of(const Prepared& p) {
  std::vector<std::string> refusals;
  if (!p.proof.proven() && !p.config.allow_unqualified) refusals.push_back(p.proof.text());
  try {
    if (const auto checkpoint = checkpoint_of_plan(p.config))
      OwnCheckpoints(p.config.output_dir).resume(*checkpoint, read_state_to_resume(*checkpoint, learning_settings(p)));
  } catch (const Error& error) {
    refusals.emplace_back(error.what());
  }
  return refusals;
}

}  // namespace

TrainResult run_training(TrainConfig config, const std::function<bool()>& interrupted, ProofRecords records) {
  require_complete(config);
  check_run_folder(config);
  const auto checkpoint = checkpoint_to_resume(config);
  const Prepared prepared = prepare(std::move(config), Purpose::train, records);
  OwnCheckpoints own(prepared.config.output_dir);
  const Json settings = learning_settings(prepared);
  std::optional<TrainerState> start;
  if (checkpoint) {
    start = read_state_to_resume(*checkpoint, settings);
    own.resume(*checkpoint, *start);
  }
  const std::unique_ptr<vk::Device> device = vk::Device::open(device_selector(prepared.config));
  const DeviceProfile profile = profile_of(*device);
  EnginePlan plan = plan_run(prepared, profile);
  check_memory(plan, prepared.config, profile);
  log_plan(prepared, plan, *device);
  check_kernels(plan, *device);
  const RunFolder folder(prepared.config.output_dir);
  const RunLock lock(prepared.config.output_dir);
  check_run_folder(prepared.config);  // a run may have ended there meanwhile
  const Json applied = applied_json(prepared, plan, *device);

  Engine engine(*device, prepared.setup, std::move(plan));
  fill_weights(engine, prepared);
  data::Sampler sampler(prepared.dataset, prepared.sampling);
  Loop loop(prepared, engine, sampler, std::move(own), settings);
  if (checkpoint) {
    load_checkpoint(*checkpoint, engine, prepared.identity);
    loop.resume(std::move(*start));
    log_info("resumed from {}", checkpoint->string());
  }
  const TrainResult result = loop.run(interrupted, [&](int64_t first_step) {
    write_file_atomic(std::filesystem::path(prepared.config.output_dir) / "applied.json", applied.dump(2) + "\n");
    restart_metrics(prepared.config.output_dir, first_step);
  });
  if (!result.interrupted) {
    publish_model_files(prepared.config.output_dir, engine, prepared.identity);
    log_info("wrote {} to {}", prepared.identity.adapter ? "the adapter" : "the model", prepared.config.output_dir);
  }
  return result;
}

PlanReport plan_training(TrainConfig config, const DeviceProfile& device) {
  const Prepared prepared = prepare(std::move(config), Purpose::plan);
  return {plan_run(prepared, device), prepared.total_steps, prepared.setup.buckets,
          prepared.setup.lora ? prepared.setup.lora->r : 0, refusals_of(prepared)};
}

Json to_json(const PlanReport& report) {
  Json out, kinds = Json::object(), targets = Json::array(), buckets = Json::array(), refusals = Json::array();
  for (const auto& [kind, bytes] : report.plan.bytes_by_kind()) kinds.set(kind, bytes);
  for (const ModuleInfo& module : report.plan.targets) targets.push_back(module.name);
  for (const Bucket& bucket : report.buckets) {
    Json shape = Json::array();
    shape.push_back(bucket.rows);
    shape.push_back(bucket.length);
    buckets.push_back(std::move(shape));
  }
  out.set("peak_bytes", report.plan.peak_bytes());
  out.set("by_kind", std::move(kinds));
  out.set("trainable", report.plan.trainable_parameters);
  out.set("base_parameters", report.plan.base_parameters);
  out.set("rank", report.rank);
  out.set("targets", std::move(targets));
  out.set("buckets", std::move(buckets));
  out.set("steps", report.total_steps);
  out.set("recompute_layers", report.plan.recomputed().layers);
  out.set("recompute", to_json(report.plan.recomputed()));
  for (const std::string& refusal : report.refusals) refusals.push_back(refusal);
  out.set("refusals", std::move(refusals));
  return out;
}

}  // namespace lemnos::train
