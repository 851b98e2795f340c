#include "verify/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "graph/autodiff.h"
#include "io/checkpoint.h"
#include "io/checkpoint_writer.h"
#include "io/temporary_dir.h"
#include "io/tensor_codec.h"
#include "models/model_builder.h"
#include "peft/adapter_config.h"
#include "runtime/profile.h"
#include "train/claim.h"
#include "train/engine.h"
#include "train/weights.h"

namespace lemnos {
namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

class Run {
 public:
  Run(vk::Device& device, const Reference& reference, const VerifyOptions& options)
      : reference_(reference),
        weights_(Checkpoint::open(reference.folder / "model")),
        setup_(make_setup(reference, weights_)),
        engine_(make_engine(device, options)) {
    load_weights(engine_.storage(), engine_.graph(), setup_.model, weights_);
    if (setup_.lora)
      load_adapter(engine_.storage(), engine_.graph(), Checkpoint::open_adapter(reference.folder / "adapter"));
    if (setup_.lora) frozen_ = export_parameters(false);
  }

  NamedTensors compute(std::vector<double>& loss) {
    NamedTensors ours;
    if (!reference_.given_gradients) ours["logits"] = engine_.logits(reference_.batch);
    for (int64_t step = 1; step <= reference_.steps; ++step) {
      run_window(step);
      if (step == 1 && !reference_.given_gradients)
        for (auto& [name, values] : gradients()) ours["grad/" + name] = std::move(values);
      if (!reference_.given_gradients)
        loss.push_back(engine_.result().loss_sum / static_cast<double>(std::max<int64_t>(1, reference_.batch.supervised)));
      engine_.update();
      for (auto& [name, values] : export_parameters(setup_.lora.has_value()))
        ours[format("step{}/{}", step, name)] = std::move(values);
    }
    return ours;
  }

  /// All but what is taken of the results.
  Evidence evidence(const vk::Device& device, const VerifyOptions& options) const {
    DeviceProfile profile = profile_of(device);
    profile.cpu_path = profile.cpu_path && !options.gpu_path;
    Evidence evidence{.claim = claim_of(setup_.model, reference_.given_gradients ? "optimizer" : reference_.stage, setup_.dtypes)};
    evidence.sources = proof::fingerprint(proof::source_table(), evidence.claim.program);
    evidence.spirv = spirv_sha256(engine_.plan(), profile);
    evidence.binary = executable_sha256();
    evidence.driver = device.info().driver;
    evidence.kernels = profile.cpu_path ? "cpu" : "gpu";
    return evidence;
  }

  double base_drift() {
    if (!setup_.lora) return 0;
    double drift = 0;
    for (const auto& [name, now] : export_parameters(false))
      for (size_t i = 0; i < now.size(); ++i)
        drift = std::max(drift, distance(now[i], frozen_.at(name)[i]));
    return drift;
  }

 private:
  static EngineSetup make_setup(const Reference& reference, const Checkpoint& weights) {
    EngineSetup setup;
    setup.model = reference.model;
    setup.dtypes = stored_dtypes(setup.model, outline(setup.model).parameters, weights);
    if (reference.stage == "lora") setup.lora = read_adapter_config(reference.folder / "adapter" / "adapter_config.json").lora;
    setup.decay_all = true;
    setup.want_logits = !reference.given_gradients;
    data::Batch batch = batch_of(reference);
    const auto segments = static_cast<int64_t>(segment_lengths(batch).size());
    setup.buckets = {{batch.rows, batch.length, segments}};
    return setup;
  }

  /// The optimizer alone has no batch; any will do, its gradients are overwritten.
  static data::Batch batch_of(const Reference& reference) {
    if (!reference.given_gradients) return reference.batch;
    return {.rows = 1, .length = 2, .input_ids = {0, 0}, .labels = {0, 0}, .positions = {0, 1}, .segments = {0, 0}, .supervised = 1};
  }

  Engine make_engine(vk::Device& device, const VerifyOptions& options) {
    EnginePlan plan = plan_engine(setup_, profile_of(device));
    if (options.sabotage)
      for (auto* list : {&plan.training, &plan.logits})
        for (PlannedGraph& planned : *list) options.sabotage(planned.graph);
    return Engine(device, setup_, std::move(plan), {.gpu_path = options.gpu_path});
  }

  void run_window(int64_t step) {
    const data::Batch batch = batch_of(reference_);
    StepParams params;
    params.set_optimizer(reference_.adamw, reference_.learning_rate, step, /*max_norm=*/0.0);
    params.set_loss_scale(batch.supervised);
    engine_.begin_window();
    engine_.micro(batch, params);
    if (!reference_.given_gradients) return;
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

  NamedTensors gradients() {
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

  /// Through files, as a user would get them.
  NamedTensors export_parameters(bool adapter) {
    const TemporaryDir folder("lemnos-verify");
    const char* stem = adapter ? "adapter_model" : "model";
    write_checkpoint(folder.path(), tensor_sources(engine_.storage(), engine_.graph(), setup_.model, adapter),
                     {.stem = stem});
    const Checkpoint written = Checkpoint::open(folder.path(), stem);
    NamedTensors found;
    for (const std::string_view name : written.names()) found[std::string(name)] = decode_f32(written.view(name));
    return found;
  }

  const Reference& reference_;
  Checkpoint weights_;
  EngineSetup setup_;
  Engine engine_;
  NamedTensors frozen_;
};

}  // namespace

VerifyReport verify_reference(vk::Device& device, const std::filesystem::path& bundle, const VerifyOptions& options) {
  const Reference reference = open_reference(bundle);
  Run run(device, reference, options);
  std::vector<double> loss;
  NamedTensors ours = run.compute(loss);
  Evidence evidence = run.evidence(device, options);
  evidence.tensors_sha256 = tensors_sha256(ours);
  VerifyReport report = judge_results(reference, std::move(ours), run.base_drift());
  report.evidence = std::move(evidence);
  report.device = device.info().name;
  report.loss = std::move(loss);
  return report;
}

}  // namespace lemnos
