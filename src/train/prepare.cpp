#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "io/file.h"
#include "io/folder_kind.h"
#include "models/model_builder.h"
#include "ops/attention/tiles.h"
#include "train/claim.h"
#include "train/memory_limit.h"
#include "train/proof_gate.h"
#include "train/session.h"
#include "train/weights.h"

namespace lemnos::train {
namespace {

/// PEFT's default for these families (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING).
const std::vector<std::string> kDefaultTargets = {"q_proj", "v_proj"};

lemnos::TargetModules target_modules(const TrainConfig& config) {
  if (!config.lora_target_modules) return {kDefaultTargets};
  const TargetModules& given = *config.lora_target_modules;
  switch (given.kind) {
    case TargetModules::Kind::all_linear: return {std::string("all-linear")};
    case TargetModules::Kind::regex: return {given.regex};
    case TargetModules::Kind::suffixes: break;
  }
  return {given.suffixes};
}

/// The largest rank whose A and B fit the budget (see docs/options.md).
int64_t rank_for_budget(double fraction, const ModelOutline& model, const std::vector<ModuleInfo>& targets) {
  int64_t base = 0, per_rank = 0;
  for (const Value& parameter : model.parameters) base += element_count(parameter.type.shape);
  for (const ModuleInfo& module : targets) per_rank += module.in_features + module.out_features;
  const auto budget = static_cast<int64_t>(static_cast<double>(base) * fraction);
  const int64_t rank = budget / per_rank;
  if (rank < 1)
    fail(ErrorKind::usage, "lora_parameter_budget: {} is too small a budget for rank 1 on {}; rank 1 needs {:.4f}%",
         counted(budget, "parameter"), counted(static_cast<int64_t>(targets.size()), "module"),
         100.0 * static_cast<double>(per_rank) / static_cast<double>(base));
  return rank;
}

LoraConfig lora_config(const TrainConfig& config, const ModelConfig& model) {
  LoraConfig lora{.r = config.lora_r,
                  .lora_alpha = static_cast<double>(config.lora_alpha),
                  .lora_dropout = config.lora_dropout,
                  .target_modules = target_modules(config)};
  const ModelOutline shape = outline(model);
  const std::vector<ModuleInfo> targets = resolve_targets(lora.target_modules, shape.modules);
  lora.target_modules = expanded(lora.target_modules, targets);
  if (config.lora_parameter_budget) lora.r = rank_for_budget(config.lora_parameter_budget->value, shape, targets);
  return lora;
}

struct TokenizerEncoder final : data::Encoder {
  TokenizerEncoder(const Tokenizer& tokenizer, int64_t rows) : tokenizer_(tokenizer) {
    bos_id = tokenizer.bos_token_id();
    eos_id = tokenizer.eos_token_id();
    vocabulary_rows = rows;
  }
  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const override {
    return tokenizer_.encode(text, add_special_tokens);
  }
  const Tokenizer& tokenizer_;
};

data::Dataset read_data(const TrainConfig& config, const std::optional<Tokenizer>& tokenizer, int64_t rows) {
  data::DatasetOptions options;
  options.files = config.dataset_name;
  options.text_field = config.dataset_text_field;
  options.example = {config.max_length, config.completion_only_loss};
  if (!tokenizer) return data::load_dataset(options, data::TokenIdsOnly(rows));
  return data::load_dataset(options, TokenizerEncoder(*tokenizer, rows));
}

void read_model(Prepared& p) {
  const TrainConfig& config = p.config;
  std::vector<std::string> notes;
  if (!config.init_from_config) {
    p.identity.model_folder = *config.model_name_or_path;
    in_place("model_name_or_path", [&] { require_folder(p.identity.model_folder, kModelFolder); });
    p.identity.model = read_model_config(p.identity.model_folder / "config.json", &notes);
    p.weights = Checkpoint::open(p.identity.model_folder);
    const std::vector<Value> parameters = outline(p.identity.model).parameters;
    check_weights(p.identity.model, parameters, *p.weights);
    p.setup.dtypes = stored_dtypes(p.identity.model, parameters, *p.weights);
  } else {
    const std::filesystem::path file = in_place("init_from_config", [&] { return config_file(*config.init_from_config); });
    p.identity.model = read_model_config(file, &notes);
    p.identity.model_folder = config.model_name_or_path ? std::filesystem::path(*config.model_name_or_path) : parent_folder(file);
  }
  if (p.weights) notes.insert(notes.end(), p.weights->notes().begin(), p.weights->notes().end());
  for (const std::string& note : notes) log_info("note: {}", note);
}

/// Before tokenizer and data, which may take long.
void check_proof(Prepared& p, Purpose purpose, ProofRecords records) {
  const proof::Claim claim = claim_of(p.identity.model, p.setup.lora ? "lora" : "base", p.setup.dtypes);
  p.proof = purpose == Purpose::train ? require_proven(claim, records, p.config.allow_unqualified) : proof::cover(claim, records);
}

/// A padded row is what attention sees at a time.
void check_padded_length(const Prepared& p, int64_t length) {
  if (length <= kMaxAttentionSegment) return;
  const data::DataReport& report = p.dataset.report;
  if (report.longest <= kMaxAttentionSegment)
    fail(ErrorKind::usage, "pad_to_multiple_of pads the longest row, of {}, to {}; at most {} are possible, choose a smaller multiple",
         counted(report.longest, "token"), length, kMaxAttentionSegment);
  const auto row = std::ranges::max_element(p.dataset.examples, {}, [](const data::Example& e) { return e.ids.size(); });
  fail(ErrorKind::usage, "{}: the row has {} and training handles at most {} a row; set max_length to {} or less, or split the row",
       data::place_text(report, {row->file, row->line}), counted(report.longest, "token"), kMaxAttentionSegment, kMaxAttentionSegment);
}

void plan_batches(Prepared& p) {
  const TrainConfig& config = p.config;
  p.sampling = {.rows_per_batch = config.per_device_train_batch_size,
                .batches_per_window = config.gradient_accumulation_steps,
                .seed = config.data_order_seed(),
                .shuffle = config.train_sampling_strategy == SamplingStrategy::random};
  if (config.pad_to_multiple_of) p.sampling.buckets.multiple = *config.pad_to_multiple_of;
  const data::Sampler sampler(p.dataset, p.sampling);
  check_padded_length(p, sampler.buckets().back());
  for (const int64_t length : sampler.buckets())
    p.setup.buckets.push_back({p.sampling.rows_per_batch, length, 2 * p.sampling.rows_per_batch});
  p.total_steps = total_steps_of(config.max_steps, config.num_train_epochs, sampler.windows_per_epoch());
}

}  // namespace

Prepared prepare(TrainConfig config, Purpose purpose, ProofRecords records) {
  require_complete(config);
  Prepared p{.config = std::move(config)};
  for (const std::string& note : p.config.notes) log_info("note: {}", note);
  read_model(p);
  if (p.config.use_peft) {
    if (!p.weights)
      log_warning("init_from_config with LoRA: the adapter fits random weights, which are made again from the same config and seed only");
    p.setup.lora = lora_config(p.config, p.identity.model);
    p.identity.adapter = AdapterConfig{*p.setup.lora, p.weights ? *p.config.model_name_or_path : ""};
  }
  p.setup.gemm = p.config.gemm;
  p.setup.model = p.identity.model;
  p.setup.checkpointing = checkpointing_of(p.config);
  check_proof(p, purpose, records);
  const bool tokenizer_only = p.config.init_from_config && p.config.model_name_or_path;
  if (tokenizer_only || std::filesystem::exists(p.identity.model_folder / "tokenizer.json"))
    p.tokenizer = Tokenizer::load(p.identity.model_folder);
  p.dataset = read_data(p.config, p.tokenizer, p.identity.model.vocab_size);
  for (const std::string& line : data::describe(p.dataset.report)) log_info("{}", line);
  if (p.dataset.report.longest > p.identity.model.max_position_embeddings)
    log_warning("the longest row has {} tokens and the model was made for {} (max_position_embeddings)", p.dataset.report.longest,
                p.identity.model.max_position_embeddings);
  plan_batches(p);
  return p;
}

Json learning_settings(const Prepared& p) {
  static constexpr const char* kNotLearned[] = {"output_dir", "resume_from_checkpoint", "logging_steps", "save_strategy",
                                                "save_steps", "save_total_limit", "device", "use_cpu", "memory_limit", "gradient_checkpointing",
                                                "allow_unqualified"};
  // What was read counts, not the path it was read from.
  static constexpr const char* kRead[] = {"model_name_or_path", "init_from_config", "dataset_name"};
  const auto in = [](const auto& names, const std::string& key) {
    return std::find_if(std::begin(names), std::end(names), [&](const char* name) { return key == name; }) != std::end(names);
  };
  Json settings;
  const Json config = to_json(p.config);
  for (const auto& [key, option] : config.at("options").as_object())
    if (!in(kNotLearned, key) && !in(kRead, key)) settings.set(key, option.at("value"));
  settings.set("config.json", p.identity.model.json);
  if (p.identity.adapter && p.weights) settings.set("base weights", format("{:016x}", p.weights->fingerprint()));
  settings.set("data", p.dataset.fingerprint());
  settings.set("total_steps", p.total_steps);
  return settings;
}

}  // namespace lemnos::train
