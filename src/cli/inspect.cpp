#include <algorithm>
#include <map>

#include "base/error.h"
#include "cli/command.h"
#include "io/checkpoint.h"
#include "io/folder_kind.h"
#include "models/model_builder.h"
#include "train/weights.h"

namespace lemnos::cli {
namespace {

struct Inspected {
  ModelConfig config;
  ModelOutline model;
  std::map<std::string, int64_t> elements_by_dtype;
  int64_t parameters = 0;
  std::vector<std::string> notes;
};

Inspected inspect(const std::filesystem::path& folder) {
  require_folder(folder, kModelFolder);
  Inspected found;
  found.config = read_model_config(folder / "config.json", &found.notes);
  found.model = outline(found.config);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  check_weights(found.config, found.model.parameters, checkpoint);
  for (const Value& parameter : found.model.parameters) {
    found.parameters += element_count(parameter.type.shape);
    for (const DiskSlice& slice : disk_layout(found.config, parameter.name, parameter.type.shape)) {
      const TensorView& view = checkpoint.view(slice.name);
      found.elements_by_dtype[std::string(dtype_name(view.dtype))] += view.elements();
    }
  }
  return found;
}

Json to_json(const Inspected& found) {
  Json out, dtypes = Json::object(), modules = Json::array();
  out.set("model_type", found.config.family->model_type);
  out.set("parameters", found.parameters);
  out.set("tie_word_embeddings", found.config.tie_word_embeddings);
  for (const auto& [dtype, count] : found.elements_by_dtype) dtypes.set(dtype, count);
  out.set("dtypes", std::move(dtypes));
  for (const ModuleInfo& module : found.model.modules) {
    Json row;
    row.set("name", module.name);
    row.set("type", module.type);
    row.set("in_features", module.in_features);
    row.set("out_features", module.out_features);
    row.set("bias", module.bias);
    modules.push_back(std::move(row));
  }
  out.set("modules", std::move(modules));
  return out;
}

void print(const Inspected& found, bool with_modules) {
  const ModelConfig& c = found.config;
  print_line(format("family       {} ({})", c.family->model_type, c.family->architecture));
  print_line(format("parameters   {}{}", found.parameters, c.tie_word_embeddings ? " (head tied to the embedding)" : ""));
  for (const auto& [dtype, count] : found.elements_by_dtype) print_line(format("  {:<10} {}", dtype, count));
  print_line(format("layers       {} of width {}, {} heads of {} over {} key-value heads", c.num_hidden_layers, c.hidden_size,
                    c.num_attention_heads, c.head_dim, c.num_key_value_heads));
  print_line(format("vocabulary   {} rows, RoPE {} theta {}", c.vocab_size, c.ropes[0].config.rope_type, c.ropes[0].config.theta));
  for (const std::string& note : found.notes) print_line("note         " + note);
  if (!with_modules) return;
  for (const ModuleInfo& module : found.model.modules)
    print_line(format("{:<10} {:>7} -> {:<7} {}{}", module.type, module.in_features, module.out_features, module.name,
                      module.type == "Linear" && module.name != "lm_head" ? "  (LoRA)" : ""));
}

int run_inspect(const Arguments& arguments) {
  const Inspected found = inspect(arguments.at("MODEL"));
  if (arguments.json())
    print_json(to_json(found));
  else
    print(found, arguments.has("--modules"));
  return 0;
}

}  // namespace

extern const Command kCommand_inspect;
const Command kCommand_inspect{.name = "inspect",
                               .summary = "Family, parameters, dtypes, ties and modules of a model folder",
                               .options = {{"MODEL", "folder in Hugging Face layout", OptionSpec::Kind::value, true},
                                           {"--modules", "list every module", OptionSpec::Kind::flag}},
                               .run = run_inspect};

}  // namespace lemnos::cli
