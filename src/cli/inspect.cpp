#include <algorithm>
#include <map>

#include "base/error.h"
#include "cli/command.h"
#include "io/checkpoint.h"
#include "io/folder_kind.h"
#include "models/features.h"
#include "models/model_builder.h"
#include "proof/coverage.h"
#include "text/tokenizer.h"
#include "train/claim.h"
#include "train/weights.h"

namespace lemnos::cli {
namespace {

struct Inspected {
  ModelConfig config;
  ModelOutline model;
  std::map<std::string, int64_t> elements_by_dtype;
  int64_t parameters = 0;
  std::optional<Tokenizer> tokenizer;
  std::vector<std::string> notes;
  std::vector<proof::Coverage> proof;  // per stage
};

/// A folder without a tokenizer can be trained on rows of ids; one with a broken tokenizer is an error.
void read_tokenizer(Inspected& found, const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder / "tokenizer.json")) {
    found.notes.push_back(
        "tokenizer.json is missing: rows of text and `lemnos generate` do not work, only rows of input_ids do "
        "(load the tokenizer with AutoTokenizer and save it again to make the file)");
    return;
  }
  found.tokenizer = Tokenizer::load(folder);
  if (!found.tokenizer->eos_token_id())
    found.notes.push_back("the tokenizer names no EOS token: none is appended to rows of text");
  if (const int64_t last = found.tokenizer->max_token_id(); last >= found.config.vocab_size)
    found.notes.push_back(format("the tokenizer has ids up to {} and the model rows for {}: text with the ids beyond is refused",
                                 last, found.config.vocab_size));
}

/// Full training and LoRA, on the weights as they are stored.
void read_proof(Inspected& found, const Checkpoint& checkpoint) {
  const auto dtypes = stored_dtypes(found.config, found.model.parameters, checkpoint);
  for (const char* stage : {"base", "lora"}) {
    try {
      found.proof.push_back(proof::cover(claim_of(found.config, stage, dtypes), proof::embedded_records().all));
    } catch (const Error& error) {  // too large to be trained whole, say
      if (error.kind() != ErrorKind::unsupported) throw;
      found.notes.emplace_back(error.what());
    }
  }
}

Inspected inspect(const std::filesystem::path& folder) {
  require_folder(folder, kModelFolder);
  Inspected found;
  found.config = read_model_config(folder / "config.json", &found.notes);
  found.model = outline(found.config);
  read_tokenizer(found, folder);
  const Checkpoint checkpoint = Checkpoint::open(folder);
  check_weights(found.config, found.model.parameters, checkpoint);
  read_proof(found, checkpoint);
  for (const Value& parameter : found.model.parameters) {
    found.parameters += element_count(parameter.type.shape);
    for (const DiskSlice& slice : disk_layout(found.config, parameter.name, parameter.type.shape)) {
      const TensorView& view = checkpoint.view(slice.name);
      found.elements_by_dtype[std::string(dtype_name(view.dtype))] += view.elements();
    }
  }
  return found;
}

Json to_json(const Tokenizer& tokenizer) {
  const auto id = [](std::optional<int32_t> token) { return token ? Json(int64_t{*token}) : Json(); };
  Json out;
  out.set("vocab_size", static_cast<int64_t>(tokenizer.vocab_size()));
  out.set("bos_token_id", id(tokenizer.bos_token_id()));
  out.set("eos_token_id", id(tokenizer.eos_token_id()));
  return out;
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
  out.set("tokenizer", found.tokenizer ? to_json(*found.tokenizer) : Json());
  Json features = Json::array(), proof = Json::object();
  for (const std::string& feature : features_of(found.config)) features.push_back(feature);
  for (const proof::Coverage& coverage : found.proof) proof.set(coverage.stage, proof::to_json(coverage));
  out.set("features", std::move(features));
  out.set("proof", std::move(proof));
  Json notes = Json::array();
  for (const std::string& note : found.notes) notes.push_back(note);
  out.set("notes", std::move(notes));
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
  if (found.tokenizer) print_line(format("tokenizer    {} tokens", found.tokenizer->vocab_size()));
  for (const proof::Coverage& coverage : found.proof) print_line("proof        " + coverage.text());
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
                               .summary = "Family, parameters, dtypes, ties, proof and modules of a model folder",
                               .options = {{"MODEL", "folder in Hugging Face layout", OptionSpec::Kind::value, true},
                                           {"--modules", "list every module", OptionSpec::Kind::flag}},
                               .run = run_inspect};

}  // namespace lemnos::cli
