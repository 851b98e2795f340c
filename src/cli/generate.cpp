#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/prompt_rows.h"
#include "generate/decoder.h"
#include "generate/sampling.h"
#include "io/folder_kind.h"
#include "models/model_builder.h"
#include "peft/adapter_config.h"
#include "text/tokenizer.h"
#include "train/weights.h"
#include "vk/device.h"

namespace lemnos::cli {
namespace {

/// Ids that end a generation: generation_config.json's, else config.json's, and the tokenizer's
/// EOS.
std::set<int32_t> end_ids(const std::filesystem::path& folder, const ModelConfig& config,
                          const Tokenizer& tokenizer) {
  std::set<int32_t> ids;
  std::vector<int64_t> listed = config.eos_token_ids;
  if (std::filesystem::exists(folder / "generation_config.json")) {
    ConfigReader reader = ConfigReader::open(folder / "generation_config.json");
    if (const auto own = read_eos_token_ids(reader); !own.empty()) listed = own;
  }
  for (const int64_t id : listed) ids.insert(static_cast<int32_t>(id));
  if (const auto eos = tokenizer.eos_token_id()) ids.insert(*eos);
  return ids;
}

struct Loaded {
  std::filesystem::path folder;
  ModelConfig config;
  Tokenizer tokenizer;
  std::optional<std::filesystem::path> adapter;
  std::optional<LoraConfig> lora;  // the adapter's
};

/// The last name of a path or of `org/name`; a model may have moved, or been fetched, since.
std::string last_name(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

void note_other_base(const AdapterConfig& adapter, const std::filesystem::path& folder) {
  const std::string& base = adapter.base_model_name_or_path;
  if (base.empty() || last_name(base) == last_name(folder.string())) return;
  log_warning("the adapter was trained on {} (its base_model_name_or_path) and is used on {}; on other weights it has no meaning",
              base, folder.string());
}

/// The adapter's config, whose modules are there in the model.
LoraConfig lora_of(const std::filesystem::path& adapter, const ModelConfig& model, const std::filesystem::path& folder) {
  const std::filesystem::path file = adapter / kAdapterFolder.file;
  const AdapterConfig config = read_adapter_config(file);
  in_place(file.string(), [&] { resolve_targets(config.lora.target_modules, outline(model).modules); });
  note_other_base(config, folder);
  return config.lora;
}

Loaded load(const Arguments& arguments) {
  const std::filesystem::path folder = arguments.at("MODEL");
  require_folder(folder, kModelFolder);
  Loaded loaded{folder, read_model_config(folder / "config.json"), Tokenizer::load(folder), {}, {}};
  if (const auto adapter = arguments.get("--adapter")) {
    require_folder(*adapter, kAdapterFolder);
    loaded.adapter = *adapter;
    loaded.lora = lora_of(*adapter, loaded.config, folder);
  }
  return loaded;
}

std::unique_ptr<Decoder> make_decoder(vk::Device& device, const Loaded& loaded, int64_t capacity) {
  if (capacity > loaded.config.max_position_embeddings)
    log_warning("prompt and answer may reach {} tokens and the model was made for {} (max_position_embeddings)", capacity,
                loaded.config.max_position_embeddings);
  DecoderSetup setup{.model = loaded.config, .capacity = capacity};
  const Checkpoint weights = Checkpoint::open(loaded.folder);
  setup.dtypes = stored_dtypes(loaded.config, outline(loaded.config).parameters, weights);
  setup.lora = loaded.lora;
  auto decoder = std::make_unique<Decoder>(device, std::move(setup));
  load_weights(decoder->storage(), decoder->graph(), loaded.config, weights);
  if (loaded.adapter)
    load_adapter(decoder->storage(), decoder->graph(), Checkpoint::open_adapter(*loaded.adapter));
  return decoder;
}

static_assert(kMostDecoderTokens == 32704, "--help and README.md say so");

int64_t new_tokens_of(const Arguments& arguments) {
  return arguments.integer("--max-new-tokens", 128, 1, INT32_MAX);
}

SamplingOptions sampling_of(const Arguments& arguments) {
  return {.temperature = arguments.number("--temperature", 0.0, 0.0, 100.0),
          .top_k = arguments.integer("--top-k", 0, 0, 1 << 30),
          .top_p = arguments.number("--top-p", 1.0, 1e-9, 1.0),
          .seed = static_cast<uint64_t>(arguments.integer("--seed", 0, 0, INT64_MAX))};
}

struct Generated {
  std::vector<int32_t> ids;
  std::string text;
  bool ended = false;  // by an end id, else by the limit
};

Generated generate(Decoder& decoder, const Loaded& loaded, const std::vector<int32_t>& prompt,
                   int64_t most, const SamplingOptions& sampling, bool stream) {
  const std::set<int32_t> ends = end_ids(loaded.folder, loaded.config, loaded.tokenizer);
  Generated out;
  StreamDecoder text(loaded.tokenizer, /*skip_special_tokens=*/true);
  const auto emit = [&](const std::string& part) {
    out.text += part;
    if (stream) print_text(part), flush_output();
  };
  std::vector<float> logits = decoder.feed(prompt);
  for (int64_t i = 0; i < most; ++i) {
    const int32_t id = next_token(logits, sampling, i);
    out.ended = ends.contains(id);
    if (out.ended) break;
    out.ids.push_back(id);
    emit(text.push(id));
    if (i + 1 < most) logits = decoder.feed(std::vector<int32_t>{id});
  }
  emit(text.finish());
  if (stream) print_line("");
  return out;
}

Json document_of(const Generated& out, size_t prompt_tokens) {
  Json document, ids = Json::array();
  for (const int32_t id : out.ids) ids.push_back(int64_t{id});
  document.set("text", out.text);
  document.set("ids", std::move(ids));
  document.set("prompt_tokens", static_cast<int64_t>(prompt_tokens));
  document.set("stopped_by", out.ended ? "eos" : "max_new_tokens");
  return document;
}

/// The caches' size. Error{usage} when prompt and answer may be longer than they can be; `prompt` names
/// it.
int64_t capacity_for(const Arguments& arguments, const std::string& prompt, size_t tokens) {
  const int64_t most = kMostDecoderTokens - static_cast<int64_t>(tokens);
  if (most < 1)
    fail(ErrorKind::usage, "{} has {} tokens; prompt and answer together are at most {}, give a shorter prompt", prompt, tokens,
         kMostDecoderTokens);
  const int64_t asked = new_tokens_of(arguments);
  if (asked > most)
    fail(ErrorKind::usage, "--max-new-tokens is {} and {} has {} tokens; prompt and answer together are at most {}, give --max-new-tokens {} "
         "or less", asked, prompt, tokens, kMostDecoderTokens, most);
  return static_cast<int64_t>(tokens) + asked;
}

int64_t capacity_for(const Arguments& arguments, const std::vector<std::vector<int32_t>>& prompts) {
  const auto longest = std::ranges::max_element(prompts, {}, [](const auto& prompt) { return prompt.size(); });
  return capacity_for(arguments, format("the prompt of row {}", longest - prompts.begin() + 1), longest->size());
}

int continue_prompt(const Arguments& arguments, const Loaded& loaded, int64_t most) {
  const std::vector<int32_t> prompt = loaded.tokenizer.encode(arguments.at("--prompt"), true);
  if (prompt.empty())
    fail(ErrorKind::usage, "--prompt is empty and the tokenizer adds no token of its own");
  const int64_t capacity = capacity_for(arguments, "the prompt", prompt.size());
  const SamplingOptions sampling = sampling_of(arguments);
  const auto device = vk::Device::open(arguments.get("--device").value_or(""));
  const auto decoder = make_decoder(*device, loaded, capacity);
  const Generated out = generate(*decoder, loaded, prompt, most, sampling, !arguments.json());
  if (arguments.json()) print_json(document_of(out, prompt.size()));
  return 0;
}

std::vector<std::vector<int32_t>> encode_prompts(const std::vector<PromptRow>& rows,
                                                 const Tokenizer& tokenizer) {
  std::vector<std::vector<int32_t>> prompts;
  for (const PromptRow& row : rows) {
    prompts.push_back(tokenizer.encode(row.prompt, true));
    if (prompts.back().empty())
      fail(ErrorKind::usage,
           "the prompt of row {} is empty and the tokenizer adds no token of its own",
           prompts.size());
  }
  return prompts;
}

/// A row and its answer; "match" where the row says what was expected.
Json answer_of(const PromptRow& row, const std::string& text) {
  Json answer;
  answer.set("prompt", row.prompt);
  answer.set("text", text);
  if (row.completion) answer.set("match", text == *row.completion);
  return answer;
}

Json counts_of(const Json& answers) {
  int64_t expected = 0, matches = 0;
  for (const Json& answer : answers.as_array()) {
    const Json* match = answer.find("match");
    if (match == nullptr) continue;
    ++expected;
    if (match->as_bool()) ++matches;
  }
  Json counts;
  counts.set("rows", static_cast<int64_t>(answers.as_array().size()));
  counts.set("with_completion", expected);
  counts.set("matches", matches);
  return counts;
}

/// One line per row as soon as it is there, then one with the counts; --json: one document of both.
int continue_rows(const Arguments& arguments, const Loaded& loaded, int64_t most) {
  const std::vector<PromptRow> rows = read_prompt_rows(arguments.at("--prompts"));
  const std::vector<std::vector<int32_t>> prompts = encode_prompts(rows, loaded.tokenizer);
  const int64_t capacity = capacity_for(arguments, prompts);
  const auto device = vk::Device::open(arguments.get("--device").value_or(""));
  const auto decoder = make_decoder(*device, loaded, capacity);
  SamplingOptions sampling = sampling_of(arguments);
  Json answers = Json::array();
  for (size_t i = 0; i < rows.size(); ++i, ++sampling.seed) {
    decoder->reset();
    const Generated out = generate(*decoder, loaded, prompts[i], most, sampling, false);
    answers.push_back(answer_of(rows[i], out.text));
    if (arguments.json()) continue;
    print_line(answers.as_array().back().dump());
    flush_output();
  }
  Json counts = counts_of(answers);
  if (arguments.json()) {
    counts.set("answers", std::move(answers));
    print_json(counts);
  } else {
    print_line(counts.dump());
  }
  return 0;
}

int run_generate(const Arguments& arguments) {
  if (arguments.has("--prompt") == arguments.has("--prompts"))
    fail(ErrorKind::usage, "give one of --prompt TEXT and --prompts FILE.jsonl");
  const int64_t most = new_tokens_of(arguments);
  const Loaded loaded = load(arguments);
  return arguments.has("--prompts") ? continue_rows(arguments, loaded, most)
                                    : continue_prompt(arguments, loaded, most);
}

}  // namespace

extern const Command kCommand_generate;
const Command kCommand_generate{
    .name = "generate",
    .summary = "Text after a prompt, greedy or sampled",
    .options = {{"MODEL", "folder in Hugging Face layout", OptionSpec::Kind::value, true},
                {"--adapter", "PEFT adapter folder"},
                {"--prompt", "the text to continue"},
                {"--prompts",
                 "JSONL file of {\"prompt\", \"completion\"?} rows: one JSON line each, and how "
                 "many match"},
                {"--max-new-tokens", "at most this many tokens (default: 128); prompt and answer together at most 32704"},
                {"--temperature", "0 (greedy) or the sampling temperature (default: 0)"},
                {"--top-k", "sample among the k likeliest; 0: among all (default: 0)"},
                {"--top-p", "sample among the likeliest that reach this probability (default: 1)"},
                {"--seed", "of the sampling (default: 0)"},
                kDeviceOption},
    .run = run_generate};

}  // namespace lemnos::cli
