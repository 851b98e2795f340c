#include <algorithm>
#include <map>

#include "base/format.h"
#include "cli/command.h"
#include "models/features.h"
#include "proof/records.h"

namespace lemnos::cli {
namespace {

using proof::Record;

constexpr const char* kStages[] = {"base", "lora", "saved", "switch", "optimizer"};

using Stages = std::map<std::string, std::vector<const Record*>>;  // by stage
using Surfaces = std::map<std::string, Stages>;                    // by name

Surfaces surfaces_of(const Family& family) {
  Surfaces surfaces;
  for (const Record& record : proof::embedded_records().all)
    if (record.family == family.model_type) surfaces[record.surface][record.stage].push_back(&record);
  return surfaces;
}

/// "proven", "stale" or "RED"; empty when no record is of it.
std::string state_of(const std::vector<const Record*>& records) {
  const auto any = [&](auto is) { return std::ranges::any_of(records, is); };
  if (any([](const Record* record) { return record->green && record->current; })) return "proven";
  if (any([](const Record* record) { return record->green; })) return "stale";
  return records.empty() ? "" : "RED";
}

/// A feature, or two that act on each other, with its state per stage.
struct FeatureRow {
  std::string name;
  std::map<std::string, std::string> states;
};

std::vector<FeatureRow> features_of(const Family& family) {
  std::map<std::string, Stages> found;
  for (const Record& record : proof::embedded_records().all) {
    if (record.family != family.model_type) continue;
    const auto has = [&](const std::string& name) { return std::ranges::binary_search(record.features, name); };
    for (const std::string& feature : record.features) found[feature][record.stage].push_back(&record);
    for (const auto& [a, b] : interacting_pairs(family))
      if (has(a) && has(b)) found[format("{} with {}", a, b)][record.stage].push_back(&record);
  }
  std::vector<FeatureRow> rows;
  for (const auto& [name, stages] : found) {
    rows.push_back({name, {}});
    for (const auto& [stage, records] : stages) rows.back().states[stage] = state_of(records);
  }
  return rows;
}

Json to_json(const FeatureRow& feature) {
  Json out, stages = Json::object();
  for (const auto& [stage, state] : feature.states) stages.set(stage, state);
  out.set("name", feature.name);
  out.set("stages", std::move(stages));
  return out;
}

Json to_json(const Record& record) {
  const auto figure = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  Json out;
  out.set("device", record.device);
  out.set("driver", record.driver);
  out.set("green", record.green);
  out.set("current", record.current);
  out.set("worst", figure(record.worst));
  out.set("oracle_noise", figure(record.oracle_noise));
  return out;
}

Json to_json(const std::string& surface, const Stages& stages) {
  Json out, by_stage = Json::object();
  for (const auto& [stage, records] : stages) {
    Json list = Json::array();
    for (const Record* record : records) list.push_back(to_json(*record));
    by_stage.set(stage, std::move(list));
  }
  out.set("name", surface);
  out.set("stages", std::move(by_stage));
  return out;
}

Json all_as_json() {
  Json out, families_json = Json::array(), problems = Json::array();
  for (const Family* family : families()) {
    Json entry, surfaces = Json::array(), features = Json::array();
    for (const FeatureRow& feature : features_of(*family)) features.push_back(to_json(feature));
    for (const auto& [name, stages] : surfaces_of(*family)) surfaces.push_back(to_json(name, stages));
    entry.set("name", family->model_type);
    entry.set("surfaces", std::move(surfaces));
    entry.set("features", std::move(features));
    families_json.push_back(std::move(entry));
  }
  for (const std::string& problem : proof::embedded_records().problems) problems.push_back(problem);
  out.set("families", std::move(families_json));
  out.set("problems", std::move(problems));
  return out;
}

/// "lavapipe, h200 (stale)"; a dash for a stage without a record.
std::string devices_text(const Stages& stages, const char* stage) {
  const auto found = stages.find(stage);
  if (found == stages.end()) return "-";
  std::string text;
  for (const Record* record : found->second)
    text += format("{}{}{}", text.empty() ? "" : ", ", record->device,
                   !record->green ? " (RED)" : !record->current ? " (stale)" : "");
  return text;
}

std::vector<const char*> stages_present() {
  std::vector<const char*> present;
  for (const char* stage : kStages)
    if (std::ranges::any_of(proof::embedded_records().all, [&](const Record& record) { return record.stage == stage; }))
      present.push_back(stage);
  return present;
}

/// A table's first row.
std::vector<std::string> heading(const char* first) {
  std::vector<std::string> row = {first};
  for (const char* stage : stages_present()) row.emplace_back(stage);
  return row;
}

void print_surfaces(const Surfaces& surfaces) {
  std::vector<std::vector<std::string>> rows = {heading("surface")};
  for (const auto& [name, by_stage] : surfaces) {
    rows.push_back({name});
    for (const char* stage : stages_present()) rows.back().push_back(devices_text(by_stage, stage));
  }
  print_table(rows);
}

void print_features(const std::vector<FeatureRow>& features) {
  std::vector<std::vector<std::string>> rows = {heading("feature")};
  for (const FeatureRow& feature : features) {
    rows.push_back({feature.name});
    for (const char* stage : stages_present()) {
      const auto state = feature.states.find(stage);
      rows.back().push_back(state == feature.states.end() ? "-" : state->second);
    }
  }
  print_table(rows);
}

void print() {
  for (const Family* family : families()) {
    const Surfaces surfaces = surfaces_of(*family);
    print_line(format("{} ({}){}", family->model_type, family->architecture, surfaces.empty() ? ": no record" : ""));
    if (surfaces.empty()) continue;
    print_surfaces(surfaces);
    print_line("");
    print_features(features_of(*family));
    print_line("");
  }
  for (const std::string& problem : proof::embedded_records().problems) print_line("unreadable: " + problem);
  print_line("surface: a configuration that was compared with Transformers; a device's name: proven there");
  print_line("feature: what of a config is in play (`lemnos inspect MODEL --json` has a model's); base is full training, lora LoRA's");
  print_line("RED: outside the gates. stale: made from other sources than this program's. -: no record");
}

int run_architectures(const Arguments& arguments) {
  if (arguments.json())
    print_json(all_as_json());
  else
    print();
  return 0;
}

}  // namespace

extern const Command kCommand_architectures;
const Command kCommand_architectures{.name = "architectures",
                                     .summary = "Families, surfaces and their proof against Transformers",
                                     .options = {},
                                     .run = run_architectures};

}  // namespace lemnos::cli
