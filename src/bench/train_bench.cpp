#include "bench/train_bench.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/philox.h"
#include "graph/passes/recompute.h"
#include "models/model_builder.h"
#include "runtime/profile.h"
#include "train/weights.h"

namespace lemnos {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

/// Rows without padding: every token but each row's last has a target.
data::Batch random_batch(const ModelConfig& model, const TrainWork& work, uint32_t index) {
  data::Batch batch{.rows = work.rows, .length = work.length};
  const int64_t count = work.rows * work.length;
  for (int64_t i = 0; i < count; ++i) {
    const auto words = philox4x32({static_cast<uint32_t>(i), index, 0, 0}, {1, 2});
    batch.input_ids.push_back(static_cast<int32_t>(words[0] % static_cast<uint32_t>(model.vocab_size)));
    batch.positions.push_back(static_cast<int32_t>(i % work.length));
    batch.segments.push_back(0);
  }
  batch.labels = batch.input_ids;
  batch.supervised = work.rows * (work.length - 1);
  batch.tokens = count;
  return batch;
}

void step(Engine& engine, const data::Batch& batch, int64_t number) {
  StepParams params;
  params.set_optimizer({}, 1e-4, number, 1.0);
  params.set_loss_scale(batch.supervised);
  engine.begin_window();
  engine.micro(batch, params);
  engine.update();
}

/// Profiled nodes come in the graph's order, those without kernels left out.
void collect(Engine& engine, Section section, TrainTiming& timing) {
  const Graph& graph = engine.last_program()->graph();
  auto next = graph.nodes.begin();
  for (const Program::NodeTime& node : engine.last_program()->times(section)) {
    next = std::find_if(next, graph.nodes.end(), [&](const Node& at) {
      return at.section == section && node.op == at.op->name && node.scope == at.scope;
    });
    LEMNOS_CHECK(next != graph.nodes.end(), "{} of {} was profiled and is in no place of the graph", node.op, node.scope);
    OpTime& sum = timing.by_op[is_recompute(node.scope) ? node.op + " again" : node.op];
    sum.ms += node.ms;
    sum.flops += node.flops;
    sum.least_ms += timing.roofline.least_ms(node.flops, least_bytes(graph, *next));
    ++sum.nodes;
    ++next;
  }
}

}  // namespace

TrainTiming time_training(vk::Device& device, const ModelConfig& model, const TrainWork& work) {
  EngineSetup setup{.model = model, .buckets = {{work.rows, work.length, work.rows}}, .gemm = work.gemm};
  if (work.lora_r > 0)
    setup.lora = LoraConfig{.r = work.lora_r, .lora_alpha = 2.0 * static_cast<double>(work.lora_r)};
  const DeviceProfile profile = profile_of(device);
  if (work.bf16_base)
    for (const Value& parameter : outline(model).parameters)
      if (parameter.type.shape.size() >= 2) setup.dtypes[parameter.name] = DType::bf16;
  setup.checkpointing = work.checkpointing;
  setup.memory_limit = work.memory_limit > 0 ? work.memory_limit : profile.memory_bytes;
  TrainTiming timing;
  if (work.profile) timing.roofline = measure_roofline(device, work.gemm);
  const Clock::time_point begin = Clock::now();
  EnginePlan plan = plan_engine(setup, profile);
  if (work.memory_limit > 0 && plan.peak_bytes() > work.memory_limit)
    fail(ErrorKind::out_of_memory, "{} needs {}; the limit is {}", work.name, byte_text(plan.peak_bytes()),
         byte_text(work.memory_limit));
  Engine engine(device, setup, std::move(plan), {.profile = work.profile});
  initialise_weights(engine.storage(), engine.graph(), model, 1);
  if (work.lora_r > 0) initialise_adapter(engine.storage(), engine.graph(), 1);
  const data::Batch batch = random_batch(model, work, 0);
  constexpr int64_t kWarmUp = 3;
  for (int64_t i = 1; i <= kWarmUp; ++i) {
    step(engine, batch, i);
    timing.last_loss = engine.result().loss_sum / static_cast<double>(batch.supervised);
    if (i == 1) timing.first_step_ms = milliseconds(begin, Clock::now());
  }
  const Clock::time_point start = Clock::now();
  for (int64_t i = 1; i <= work.steps; ++i) {
    step(engine, batch, kWarmUp + i);
    engine.result();
  }
  timing.step_ms = milliseconds(start, Clock::now()) / static_cast<double>(work.steps);
  timing.tokens_per_second = 1000.0 * static_cast<double>(batch.tokens) / timing.step_ms;
  timing.recomputed = engine.plan().recomputed();
  timing.peak_bytes = engine.plan().peak_bytes();
  timing.driver_bytes = static_cast<int64_t>(device.memory_use().allocated);
  if (!work.profile) return timing;
  for (const Section section : {Section::zero, Section::micro, Section::update}) collect(engine, section, timing);
  return timing;
}

}  // namespace lemnos
