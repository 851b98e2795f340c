#include "train/engine_plan.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "graph/autodiff.h"
#include "models/model_builder.h"
#include "ops/linear/fuse_linears.h"
#include "ops/linear/linear.h"
#include "ops/loss/linear_cross_entropy.h"
#include "ops/optim/adamw.h"
#include "ops/optim/step_params.h"
#include "train/recompute_plan.h"

namespace lemnos {
namespace {

BuildOptions build_options(const EngineSetup& setup, const Bucket& bucket, const LinearHook* hook) {
  BuildOptions options{.tokens = bucket.rows * bucket.length,
                       .positions = bucket.length,
                       .max_segments = bucket.segments};
  options.dtype = [&setup](const std::string& name) {
    const auto found = setup.dtypes.find(name);
    return found == setup.dtypes.end() ? DType::f32 : found->second;
  };
  const bool full = setup.train && !setup.lora;
  options.trainable = [full](const std::string&) { return full; };
  options.hook = hook;
  return options;
}

struct ForwardPass {
  ValueId hidden, head;
};

ForwardPass forward(Builder& builder, const EngineSetup& setup, const BuildOptions& options) {
  ModelBuilder m(builder, setup.model, options);
  const ValueId hidden = setup.model.family->build(m, setup.model);
  return {hidden, head_weight(m, setup.model)};
}

/// Returns how many nodes come before the backward pass.
size_t add_training(Builder& builder, const EngineSetup& setup, const ForwardPass& pass, int64_t tokens) {
  const ValueId targets = builder.input_once("targets", {tokens}, DType::i32);
  const ValueId step = builder.input_once("step_f32", {kStepFloats}, DType::f32);
  Autodiff autodiff(builder);
  builder.scope = "loss";
  linear_cross_entropy(builder, pass.hidden, pass.head, {}, targets, step, &autodiff);
  const size_t forward_nodes = builder.graph().nodes.size();
  autodiff.run();
  builder.scope.clear();
  adamw_step(builder, parameters_with_gradients(builder.graph()), [&setup](const Value& value) {
    return setup.decay_all || decays_by_default(value.name);
  });
  zero_gradients(builder);
  return forward_nodes;
}

PlannedGraph training_graph(const EngineSetup& setup, const Bucket& bucket, const LinearHook* hook, SplitGemm split) {
  PlannedGraph planned{.bucket = bucket};
  Builder builder(planned.graph);
  builder.split_gemm = split;
  const BuildOptions options = build_options(setup, bucket, hook);
  const ForwardPass pass = forward(builder, setup, options);
  if (setup.train) {
    planned.forward_nodes = add_training(builder, setup, pass, options.tokens);
  } else {
    const ValueId targets = builder.input_once("targets", {options.tokens}, DType::i32);
    linear_cross_entropy(builder, pass.hidden, pass.head, {}, targets, {}, nullptr);
    zero_gradients(builder);
  }
  fuse_linears(planned.graph, planned.forward_nodes);
  return planned;
}

PlannedGraph logits_graph(const EngineSetup& setup, const Bucket& bucket, const LinearHook* hook, SplitGemm split) {
  PlannedGraph planned{.bucket = bucket};
  Builder builder(planned.graph);
  builder.split_gemm = split;
  const BuildOptions options = build_options(setup, bucket, hook);
  const ForwardPass pass = forward(builder, setup, options);
  planned.logits = ops::linear(builder, pass.hidden, pass.head);
  planned.graph.results = {planned.logits};
  fuse_linears(planned.graph, planned.forward_nodes);
  return planned;
}

void plan_memory(EnginePlan& plan, const EngineSetup& setup, const PlanOptions& options) {
  std::vector<const Graph*> graphs;
  std::vector<const ArenaPlan*> arenas;
  for (auto* list : {&plan.training, &plan.logits})
    for (PlannedGraph& planned : *list) graphs.push_back(&planned.graph);
  plan.storage = plan_storage(graphs, options);
  for (PlannedGraph& planned : plan.logits) {
    planned.arena = plan_arena(planned.graph, options);
    arenas.push_back(&planned.arena);
  }
  plan_with_recompute(plan, setup, options);
  for (PlannedGraph& planned : plan.training) arenas.push_back(&planned.arena);
  plan.arena = merge_arenas(arenas);
}

void count_parameters(EnginePlan& plan) {
  const Graph& graph = plan.training.empty() ? plan.logits.front().graph : plan.training.front().graph;
  for (const ValueId id : graph.of_kind(ValueKind::parameter)) {
    const Value& value = graph[id];
    const int64_t count = element_count(value.type.shape);
    if (value.trainable) plan.trainable_parameters += count;
    if (!is_adapter_parameter(value.name)) plan.base_parameters += count;
  }
}

}  // namespace

bool decays_by_default(const std::string& parameter) {
  if (parameter.ends_with("bias")) return false;
  std::string module = parameter.substr(0, parameter.rfind('.'));
  const std::string leaf = module.substr(module.rfind('.') + 1);
  return !(leaf == "norm" || leaf.ends_with("layernorm") || leaf.ends_with("_norm") || leaf.ends_with("rmsnorm"));
}

std::map<std::string, int64_t> EnginePlan::bytes_by_kind() const {
  std::map<std::string, int64_t> kinds = storage.by_kind;
  for (const int64_t bytes : arena.blocks) kinds["activations"] += bytes;
  kinds["inputs"] += arena.input_bytes;
  return kinds;
}

int64_t EnginePlan::peak_bytes() const {
  int64_t total = 0;
  for (const auto& [kind, bytes] : bytes_by_kind()) total += bytes;
  return total;
}

Recomputed EnginePlan::recomputed() const {
  const auto most = std::max_element(training.begin(), training.end(), [](const PlannedGraph& a, const PlannedGraph& b) {
    return a.recomputed.steps < b.recomputed.steps;
  });
  return most == training.end() ? Recomputed() : most->recomputed;
}

EnginePlan plan_engine(const EngineSetup& setup, const DeviceProfile& device) {
  LEMNOS_CHECK(!setup.buckets.empty());
  EnginePlan plan;
  const SplitGemm split = split_gemm(setup.gemm, device);
  std::unique_ptr<LoraHook> hook, without_dropout;
  if (setup.lora) {
    plan.targets = resolve_targets(setup.lora->target_modules, outline(setup.model).modules);
    hook = std::make_unique<LoraHook>(*setup.lora, plan.targets, setup.train, setup.train);
    without_dropout = std::make_unique<LoraHook>(*setup.lora, plan.targets, setup.train, false);
  }
  for (const Bucket& bucket : setup.buckets) {
    if (setup.train || setup.want_loss) plan.training.push_back(training_graph(setup, bucket, hook.get(), split));
    if (!setup.want_logits) continue;
    plan.logits.push_back(logits_graph(setup, bucket, without_dropout.get(), split));
  }
  plan_memory(plan, setup, {.max_block_bytes = device.max_allocation_bytes});
  count_parameters(plan);
  return plan;
}

}  // namespace lemnos
