#include "train/engine.h"

#include <cstring>

#include "base/error.h"
#include "ops/loss/loss_sum.h"

namespace lemnos {
namespace {

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

Engine::Engine(vk::Device& device, const EngineSetup& setup, EnginePlan plan, Options options)
    : model_(setup.model),
      plan_(std::move(plan)),
      storage_(device, plan_.storage, plan_.arena),
      pipelines_(options.pipelines ? options.pipelines : std::make_shared<vk::PipelineCache>(device)),
      inputs_(model_) {
  const Program::Options program_options{.profile = options.profile, .gpu_path = options.gpu_path};
  const auto record = [&](const std::vector<PlannedGraph>& from, std::vector<Ready>& to) {
    for (const PlannedGraph& planned : from)
      to.push_back({planned.bucket,
                    std::make_unique<Program>(storage_, *pipelines_, planned.graph, planned.arena, program_options),
                    planned.logits});
  };
  record(plan_.training, training_);
  record(plan_.logits, logits_);
  for (const ValueId id : graph().of_kind(ValueKind::state)) storage_.clear(graph()[id].name);
}

Engine::Ready& Engine::find(std::vector<Ready>& list, const data::Batch& batch) {
  for (Ready& ready : list)
    if (ready.bucket.rows == batch.rows && ready.bucket.length == batch.length) return ready;
  LEMNOS_CHECK(false, "no program for a batch of {} x {}", batch.rows, batch.length);
  return list.front();
}

void Engine::derive_from_weights() {
  if (storage_.writes() == derived_at_) return;
  derived_at_ = storage_.writes();
  (training_.empty() ? logits_ : training_).front().program->run(Section::once);
}

void Engine::begin_window() {
  derive_from_weights();
  if (last_ == nullptr) last_ = training_.front().program.get();
  last_->run(Section::zero);
}

void Engine::micro(const data::Batch& batch, const StepParams& step) {
  derive_from_weights();
  Ready& ready = find(training_, batch);
  if (last_ != nullptr) last_->wait();
  last_ = ready.program.get();
  inputs_.write(*last_, ready.bucket, batch, step);
  last_->run(Section::micro);
}

void Engine::update() {
  LEMNOS_CHECK(last_ != nullptr);
  last_->run(Section::update);
}

Engine::WindowResult Engine::result() {
  last_->wait();
  WindowResult result;
  const std::vector<float> sum = as_floats(storage_.read(kLossSumName));
  result.loss_sum = static_cast<double>(sum[0]) + static_cast<double>(sum[1]);
  if (storage_.plan().places.contains("grad_norm"))
    result.grad_norm = static_cast<double>(as_floats(storage_.read("grad_norm"))[0]);
  return result;
}

std::vector<float> Engine::logits(const data::Batch& batch) {
  derive_from_weights();
  Ready& ready = find(logits_, batch);
  if (last_ != nullptr) last_->wait();
  inputs_.write(*ready.program, ready.bucket, batch, StepParams());
  ready.program->run(Section::micro);
  return as_floats(ready.program->read(ready.logits));
}

}  // namespace lemnos
