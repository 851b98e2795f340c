// Compiles every kernel that training the given shapes needs, for real and with nothing executed,
// and prints what the driver's compiler says of each as JSON. Exit code 1: registers were spilled.
//   pipeline_stats [--device SELECTOR] [--shape ROWSxLENGTH ...] CONFIG...
// Mesa's RADV compiles for AMD cards that are not there: see scripts/amd-check.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "runtime/profile.h"
#include "train/engine_plan.h"
#include "vk/device.h"
#include "vk/pipeline.h"

namespace lemnos {
namespace {

struct Options {
  std::string device;
  std::vector<std::string> configs, shapes = {"1x512", "4x1024"};
};

Bucket bucket_of(const std::string& shape) {
  Bucket bucket;
  char after = 0;
  if (std::sscanf(shape.c_str(), "%ldx%ld%c", &bucket.rows, &bucket.length, &after) != 2)
    fail(ErrorKind::usage, "--shape {} is not ROWSxLENGTH", shape);
  return bucket;
}

using Keys = std::set<vk::PipelineKey>;

void add_keys(Keys& keys, const EngineSetup& setup, const DeviceProfile& profile) {
  const EnginePlan plan = plan_engine(setup, profile);
  for (const PlannedGraph& planned : plan.training)
    for (const Node& node : planned.graph.nodes)
      for (const KernelCall& call : node.op->dispatch({planned.graph, node, profile}))
        keys.insert({call.shader, call.constants, 0});
}

/// Full and LoRA training of each model at each shape.
Keys keys_of(const Options& options, const DeviceProfile& profile) {
  Keys keys;
  for (const std::string& config : options.configs) {
    EngineSetup setup{.model = read_model_config(config)};
    for (const std::string& shape : options.shapes) {
      setup.buckets = {bucket_of(shape)};
      setup.lora.reset();
      add_keys(keys, setup, profile);
      setup.lora = LoraConfig{.r = 16, .lora_alpha = 32};
      add_keys(keys, setup, profile);
    }
  }
  return keys;
}

bool counts_spills(const std::string& name) {
  return name.find("pill") != std::string::npos || name == "Scratch size";
}

Json describe(const vk::PipelineKey& key, const std::vector<vk::PipelineStatistic>& statistics, bool& spills) {
  Json row, constants = Json::array();
  for (const uint32_t constant : key.constants) constants.push_back(static_cast<int64_t>(constant));
  row.set("shader", key.shader);
  row.set("constants", std::move(constants));
  for (const vk::PipelineStatistic& statistic : statistics) {
    if (statistic.name.ends_with("ash")) continue;
    row.set(statistic.name, statistic.value);
    spills = spills || (counts_spills(statistic.name) && statistic.value > 0);
  }
  return row;
}

int run(const Options& options) {
  const auto device = vk::Device::open(options.device, {.pipeline_statistics = true});
  vk::PipelineCache pipelines(*device);
  const Keys keys = keys_of(options, profile_of(*device));
  pipelines.prepare(std::vector<vk::PipelineKey>(keys.begin(), keys.end()));
  Json rows = Json::array();
  bool spills = false;
  for (const vk::PipelineKey& key : keys) rows.push_back(describe(key, pipelines.statistics(key), spills));
  Json result;
  result.set("device", device->info().name);
  result.set("driver", device->info().driver);
  result.set("spills", spills);
  result.set("pipelines", std::move(rows));
  std::puts(result.dump(1).c_str());
  return spills ? 1 : 0;
}

}  // namespace
}  // namespace lemnos

int main(int argc, char** argv) {
  CLI::App app("What the driver's compiler makes of each kernel");
  lemnos::Options options;
  app.add_option("CONFIG", options.configs, "config.json of a model")->required();
  app.add_option("--device", options.device, "as for lemnos");
  app.add_option("--shape", options.shapes, "ROWSxLENGTH of a micro-batch");
  CLI11_PARSE(app, argc, argv);
  try {
    return lemnos::run(options);
  } catch (const lemnos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
