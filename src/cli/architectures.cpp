#include <algorithm>
#include <map>

#include "base/format.h"
#include "cli/command.h"
#include "models/model.h"
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
    Json entry, surfaces = Json::array();
    for (const auto& [name, stages] : surfaces_of(*family)) surfaces.push_back(to_json(name, stages));
    entry.set("name", family->model_type);
    entry.set("surfaces", std::move(surfaces));
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

void print_row(const std::string& name, const std::vector<std::string>& cells) {
  std::string line = format("  {:<28}", name);
  for (const std::string& cell : cells) line += format("{:<26}", cell);
  print_line(line.substr(0, line.find_last_not_of(' ') + 1));
}

void print() {
  const std::vector<const char*> stages = stages_present();
  for (const Family* family : families()) {
    const Surfaces surfaces = surfaces_of(*family);
    print_line(format("{} ({}){}", family->model_type, family->architecture, surfaces.empty() ? ": no record" : ""));
    if (!surfaces.empty()) print_row("surface", {stages.begin(), stages.end()});
    for (const auto& [name, by_stage] : surfaces) {
      std::vector<std::string> cells;
      for (const char* stage : stages) cells.push_back(devices_text(by_stage, stage));
      print_row(name, cells);
    }
  }
  for (const std::string& problem : proof::embedded_records().problems) print_line("unreadable: " + problem);
  print_line("A device's name: proven there. RED: outside the gates. stale: made from other sources than this program's.");
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
