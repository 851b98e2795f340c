#include "train/claim.h"

#include <algorithm>
#include <limits>
#include <set>

#include "models/feature_fields.h"
#include "ops/loss/linear_cross_entropy.h"
#include "train/engine_plan.h"

namespace lemnos {
namespace {

using Names = std::set<std::string>;

/// Every Linear but the head, also where "all-linear" would mean more.
TargetModules every_linear(const ModelConfig& model) {
  std::vector<std::string> names;
  for (const ModuleInfo& module : outline(model).modules)
    if (module.type == "Linear" && module.name != "lm_head") names.push_back(module.name);
  return {names};
}

EngineSetup setup_of(const ModelConfig& model, const std::string& stage) {
  constexpr int64_t kAnyRows = int64_t{1} << 30, kFewWords = 256;
  EngineSetup setup{.model = model};
  // A chunk of logits over fewer words has more rows than a micro-batch may.
  setup.model.vocab_size = std::max(model.vocab_size, kFewWords);
  const int64_t chunk = loss_chunk_rows(kAnyRows, setup.model.vocab_size, LogitOptions().most_bytes);
  setup.buckets = {{.rows = 1, .length = 2, .segments = 1}, {.rows = 1, .length = chunk + 1, .segments = 1}};
  if (stage == "lora")
    setup.lora = LoraConfig{.r = 1, .lora_alpha = 1, .lora_dropout = 0.5, .target_modules = every_linear(model)};
  return setup;
}

std::vector<std::string> ops_of(const ModelConfig& model, const std::string& stage) {
  Names ops;
  const DeviceProfile unlimited{.max_allocation_bytes = std::numeric_limits<int64_t>::max() / 4};
  const EnginePlan plan = plan_engine(setup_of(model, stage), unlimited);
  for (const PlannedGraph& planned : plan.training)
    for (const Node& node : planned.graph.nodes)
      if (stage != "optimizer" || node.section != Section::micro) ops.insert(node.op->name);
  return {ops.begin(), ops.end()};
}

}  // namespace

proof::Claim claim_of(const ModelConfig& model, const std::string& stage, const std::map<std::string, DType>& dtypes) {
  const std::vector<std::string> of_config = features_of(model);
  Names features(of_config.begin(), of_config.end());
  if (stage == "lora")
    for (const auto& [name, dtype] : dtypes)
      if (dtype != DType::f32) features.insert(std::string("weights:") + name_of(dtype));
  std::map<std::string, std::string> fields;
  for (const std::string& feature : of_config)
    if (std::string text = fields_behind(model, feature); !text.empty()) fields[feature] = std::move(text);
  return {{model.family->model_type, stage, ops_of(model, stage)}, {features.begin(), features.end()}, interacting_features(model),
          std::move(fields)};
}

}  // namespace lemnos
