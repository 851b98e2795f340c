#include "verify/reference_run.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "graph/autodiff.h"
#include "io/checkpoint_writer.h"
#include "io/tensor_codec.h"
#include "models/model_builder.h"
#include "runtime/profile.h"
#include "train/claim.h"
#include "train/training_checkpoint.h"
#include "train/weights.h"

namespace lemnos {
namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// The optimizer alone has no batch; any will do, its gradients are overwritten.
data::Batch batch_of(const Reference& reference) {
  if (!reference.given_gradients) return reference.batch;
  return {.rows = 1, .length = 2, .input_ids = {0, 0}, .labels = {0, 0}, .positions = {0, 1}, .segments = {0, 0}, .supervised = 1};
}

std::optional<AdapterConfig> read_adapter(const Reference& reference) {
  if (reference.stage != "lora") return std::nullopt;
  return read_adapter_config(reference.folder / "adapter" / "adapter_config.json");
}

EngineSetup make_setup(const Reference& reference, const Checkpoint& weights, const std::optional<AdapterConfig>& adapter) {
  EngineSetup setup;
  setup.model = reference.model;
  setup.dtypes = stored_dtypes(setup.model, outline(setup.model).parameters, weights);
  if (adapter) setup.lora = adapter->lora;
  setup.decay_all = true;
  setup.want_logits = !reference.given_gradients;
  const data::Batch batch = batch_of(reference);
  setup.buckets = {{batch.rows, batch.length, std::ssize(segment_lengths(batch))}};
  return setup;
}

void damage(const Sabotage::OfStorage& sabotage, Engine& engine) {
  if (sabotage) sabotage(engine.storage(), engine.graph());
}

}  // namespace

Engine Bench::make_engine(const EngineSetup& setup) const {
  EngineSetup chosen = setup;
  chosen.gemm = options.gemm;
  EnginePlan plan = plan_engine(chosen, profile_of(device));
  if (options.sabotage.graph)
    for (auto* list : {&plan.training, &plan.logits})
      for (PlannedGraph& planned : *list) options.sabotage.graph(planned.graph);
  return Engine(device, setup, std::move(plan), {.gpu_path = options.gpu_path, .pipelines = pipelines});
}

ReferenceRun::ReferenceRun(const Bench& bench, const Reference& reference)
    : bench_(bench),
      reference_(reference),
      adapter_(read_adapter(reference)),
      weights_(Checkpoint::open(reference.folder / "model")),
      setup_(make_setup(reference, weights_, adapter_)),
      engine_(bench.make_engine(setup_)) {
  load_weights(engine_.storage(), engine_.graph(), setup_.model, weights_);
  if (adapter_) load_adapter(engine_.storage(), engine_.graph(), Checkpoint::open_adapter(reference.folder / "adapter"));
  damage(bench.options.sabotage.weights, engine_);
  if (adapter_) frozen_ = export_parameters(false);
}

NamedTensors ReferenceRun::compute(std::vector<double>& loss) {
  if (reference_.resumes()) checkpoints_.emplace("lemnos-verify");
  NamedTensors ours;
  if (!reference_.given_gradients) ours["logits"] = engine_.logits(reference_.batch);
  if (reference_.tensors.find(kBaseLogits) != nullptr) ours[kBaseLogits] = base_logits();
  ours.merge(steps_after(0, &loss));
  return ours;
}

/// Gradients of the first step, and the parameters after each.
NamedTensors ReferenceRun::steps_after(int64_t done, std::vector<double>* loss) {
  NamedTensors ours;
  for (int64_t step = done + 1; step <= reference_.steps; ++step) {
    run_window(step);
    if (step == 1 && !reference_.given_gradients)
      for (auto& [name, values] : gradients()) ours["grad/" + name] = std::move(values);
    if (loss != nullptr && !reference_.given_gradients)
      loss->push_back(engine_.result().loss_sum / static_cast<double>(std::max<int64_t>(1, reference_.batch.supervised)));
    update();
    if (step == 1 && checkpoints_) train::save_checkpoint(checkpoints_->path(), engine_, identity(), {.global_step = 1});
    for (auto& [name, values] : export_parameters(adapter_.has_value()))
      ours[format("step{}/{}", step, name)] = std::move(values);
  }
  return ours;
}

bool ReferenceRun::resumes_in_the_same_bits(const NamedTensors& uninterrupted) {
  LEMNOS_CHECK(checkpoints_.has_value(), "{} is not resumed", reference_.name);
  ReferenceRun resumed(bench_, reference_);
  train::load_checkpoint(train::checkpoint_folder(checkpoints_->path(), 1), resumed.engine_, identity());
  damage(bench_.options.sabotage.resumed, resumed.engine_);
  const NamedTensors steps = resumed.steps_after(1, nullptr);
  return std::all_of(steps.begin(), steps.end(), [&](const auto& step) { return uninterrupted.at(step.first) == step.second; });
}

double ReferenceRun::base_drift() {
  double drift = 0;
  if (!adapter_) return drift;
  for (const auto& [name, now] : export_parameters(false))
    for (size_t i = 0; i < now.size(); ++i) drift = std::max(drift, distance(now[i], frozen_.at(name)[i]));
  return drift;
}

Evidence ReferenceRun::evidence() const {
  DeviceProfile profile = profile_of(bench_.device);
  profile.cpu_path = profile.cpu_path && !bench_.options.gpu_path;
  Evidence evidence{.claim = claim_of(setup_.model, reference_.given_gradients ? "optimizer" : reference_.stage, setup_.dtypes)};
  evidence.sources = proof::fingerprint(proof::source_table(), evidence.claim.program);
  evidence.spirv = spirv_sha256(engine_.plan(), profile);
  evidence.binary = executable_sha256();
  evidence.driver = bench_.device.info().driver;
  evidence.gemm = name_of(bench_.options.gemm);
  evidence.kernels = profile.cpu_path ? "cpu" : "gpu";
  return evidence;
}

void ReferenceRun::run_window(int64_t step) {
  const data::Batch batch = batch_of(reference_);
  StepParams params;
  params.set_optimizer(reference_.adamw, reference_.learning_rate, step, /*max_norm=*/0.0);
  params.set_loss_scale(batch.supervised);
  engine_.begin_window();
  engine_.micro(batch, params);
  if (reference_.given_gradients) give_gradients(step);
}

void ReferenceRun::give_gradients(int64_t step) {
  for (const ValueId id : engine_.graph().of_kind(ValueKind::parameter)) {
    const Value& value = engine_.graph()[id];
    if (!value.trainable || !engine_.graph().find(gradient_name(value.name)).valid()) continue;
    for (const DiskSlice& slice : disk_layout(setup_.model, value.name, value.type.shape)) {
      const TensorView* given = reference_.tensors.find(format("given/{}/{}", step, slice.name));
      if (given == nullptr) fail(ErrorKind::corrupt_input, "the bundle has no given/{}/{}", step, slice.name);
      engine_.storage().write(gradient_name(value.name), given->bytes, slice.first_element * 4);
    }
  }
}

void ReferenceRun::update() {
  engine_.update();
  if (!bench_.options.sabotage.stepped) return;
  engine_.result();
  damage(bench_.options.sabotage.stepped, engine_);
}

NamedTensors ReferenceRun::gradients() {
  NamedTensors found;
  for (const ValueId id : engine_.graph().of_kind(ValueKind::parameter)) {
    const Value& value = engine_.graph()[id];
    if (!engine_.graph().find(gradient_name(value.name)).valid()) continue;
    const std::vector<float> whole = floats_of(engine_.storage().read(gradient_name(value.name)));
    const std::vector<DiskSlice> slices = is_adapter_parameter(value.name)
                                              ? std::vector<DiskSlice>{{value.name, value.type.shape, 0}}
                                              : disk_layout(setup_.model, value.name, value.type.shape);
    for (const DiskSlice& slice : slices) {
      const auto first = whole.begin() + slice.first_element;
      found[slice.name].assign(first, first + element_count(slice.shape));
    }
  }
  return found;
}

/// Of the frozen model alone, as stored, in a program without adapters.
std::vector<float> ReferenceRun::base_logits() {
  EngineSetup setup = setup_;
  setup.lora.reset();
  setup.train = false;
  Engine engine = bench_.make_engine(setup);
  load_weights(engine.storage(), engine.graph(), setup.model, weights_);
  return engine.logits(reference_.batch);
}

/// Through files, as a user would get them.
NamedTensors ReferenceRun::export_parameters(bool adapter) {
  const TemporaryDir folder("lemnos-verify");
  const char* stem = adapter ? "adapter_model" : "model";
  write_checkpoint(folder.path(), tensor_sources(engine_.storage(), engine_.graph(), setup_.model, adapter), {.stem = stem});
  const Checkpoint written = Checkpoint::open(folder.path(), stem);
  NamedTensors found;
  for (const std::string_view name : written.names()) found[std::string(name)] = decode_f32(written.view(name));
  return found;
}

train::RunIdentity ReferenceRun::identity() const {
  return {.model = setup_.model, .adapter = adapter_, .model_folder = reference_.folder / "model"};
}

}  // namespace lemnos
