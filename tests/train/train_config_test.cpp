#include "train/train_config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lemnos::train {
namespace {

using Flags = std::vector<FlagSetting>;

TrainConfig parse(std::string_view yaml, const Flags& flags = {}) {
  return parse_train_config(yaml, "run.yaml", flags);
}

void expect_error(std::string_view yaml, ErrorKind kind, const std::string& part,
                  const Flags& flags = {}) {
  try {
    parse(yaml, flags);
    ADD_FAILURE() << "no error for " << yaml;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}
void expect_usage(std::string_view yaml, const std::string& part, const Flags& flags = {}) {
  expect_error(yaml, ErrorKind::usage, part, flags);
}
void expect_unsupported(std::string_view yaml, const std::string& part) {
  expect_error(yaml, ErrorKind::unsupported, part);
}

TEST(TrainConfig, NothingGivenMeansTheDefaults) {
  const TrainConfig config = parse("");
  EXPECT_EQ(config.learning_rate, 2e-5);
  EXPECT_EQ(config.max_length, 1024);
  EXPECT_EQ(config.lr_scheduler_type, LrSchedulerType::linear);
  EXPECT_FALSE(config.use_peft);
  EXPECT_TRUE(config.given.empty());
  EXPECT_TRUE(config.notes.empty());
}

TEST(TrainConfig, ReadsEachType) {
  const TrainConfig config = parse(
      "model_name_or_path: models/tiny  # a comment\n"
      "dataset_name: [a.jsonl, b.jsonl]\n"
      "learning_rate: 2e-4\n"
      "weight_decay: '1e-2'\n"
      "max_length: null\n"
      "completion_only_loss: False\n"
      "lr_scheduler_type: cosine\n"
      "save_strategy: no\n"
      "use_peft: yes\n"
      "memory_limit: 1.5 GiB\n"
      "pad_to_multiple_of: auto\n"
      "data_seed: None\n");
  EXPECT_EQ(config.model_name_or_path, "models/tiny");
  EXPECT_EQ(config.dataset_name, (std::vector<std::string>{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(config.learning_rate, 2e-4);
  EXPECT_EQ(config.weight_decay, 1e-2);
  EXPECT_EQ(config.max_length, std::nullopt);
  EXPECT_EQ(config.completion_only_loss, false);
  EXPECT_EQ(config.lr_scheduler_type, LrSchedulerType::cosine);
  EXPECT_EQ(config.save_strategy, SaveStrategy::no);
  EXPECT_TRUE(config.use_peft);
  EXPECT_EQ(config.memory_limit, ByteSize{3 * (int64_t{1} << 29)});
  EXPECT_EQ(config.pad_to_multiple_of, std::nullopt);
  EXPECT_EQ(config.data_order_seed(), 42u);
}

TEST(TrainConfig, FlagsWinOverTheFile) {
  const TrainConfig config =
      parse("learning_rate: 1e-3\nmax_steps: 5\ndataset_name: x.jsonl\n",
            {{"learning_rate", {"5e-4"}}, {"use_cpu", {}}, {"train_file", {"a", "b,c"}}});
  EXPECT_EQ(config.learning_rate, 5e-4);
  EXPECT_EQ(config.max_steps, 5);
  EXPECT_EQ(config.device, "cpu");
  EXPECT_EQ(config.dataset_name, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(config.given.at("learning_rate").source, SettingSource::flag);
  EXPECT_EQ(config.given.at("learning_rate").place, "--learning-rate");
  EXPECT_EQ(config.given.at("max_steps").place, "run.yaml:2");
  EXPECT_EQ(config.given.at("device").source, SettingSource::implied);
}

TEST(TrainConfig, GradientCheckpointingIsTrueFalseOrLeftToThePlan) {
  const auto value = [](const char* text) { return parse(std::string("gradient_checkpointing: ") + text).gradient_checkpointing; };
  EXPECT_EQ(value("true"), true);
  EXPECT_EQ(value("no"), false);
  EXPECT_EQ(value("auto"), std::nullopt);
  EXPECT_EQ(value("null"), std::nullopt);
  EXPECT_EQ(parse("").gradient_checkpointing, std::nullopt);
  EXPECT_EQ(parse("gradient_checkpointing: true", {{"gradient_checkpointing", {"auto"}}}).gradient_checkpointing, std::nullopt);
  EXPECT_EQ(parse("", {{"gradient_checkpointing", {}}}).gradient_checkpointing, true);
  expect_usage("gradient_checkpointing: 2", "expected true or false or null");
  expect_usage("use_peft: auto", "expected true or false");
}

TEST(TrainConfig, WrongValuesSayWhereAndWhatIsExpected) {
  expect_usage("seed: 1\nlearning_rate: fast\n",
               "run.yaml:2: learning_rate is \"fast\", expected a number");
  expect_usage("learning_rate: -1e-4", "learning_rate is -1e-4, expected at least 0");
  for (const char* text : {"nan", "-inf", ".inf"})
    expect_usage(std::string("learning_rate: ") + text, "expected a finite number");
  expect_usage("learning_rate: null", "learning_rate is null, expected a number");
  expect_usage("learning_rate: [1]", "expected a number");
  expect_usage("max_steps: 1.5", "expected an integer");
  expect_usage("max_steps: 99999999999999999999", "expected an integer");
  expect_usage("use_peft: 1", "expected true or false");
  expect_usage("lora_r: 0", "expected at least 1");
  expect_usage("lora_dropout: 1.0", "expected at least 0 and below 1");
  expect_usage("max_length: 1", "expected at least 2");
  expect_usage("save_total_limit: 0", "expected at least 1");
  expect_usage("lr_scheduler_type: polynomial",
               "expected one of constant, constant_with_warmup, linear, cosine");
  expect_usage("optim: adafactor", "expected one of adamw_torch, adamw_torch_fused");
  expect_usage("memory_limit: 12", "expected a size such as 6GiB");
  expect_usage("output_dir: {a: 1}", "expected text");
  expect_usage("", "--lora-r is 0", {{"lora_r", {"0"}}});
}

TEST(TrainConfig, MisspeltKeysGetASuggestion) {
  expect_usage("frobnicate: 1\n", "run.yaml:1: frobnicate is not an option; docs/options.md");
  expect_usage("learning_rat: 1", "did you mean learning_rate?");
  expect_usage("leanring_rate: 1", "did you mean learning_rate?");
  expect_usage("learning-rate: 1", "did you mean learning_rate?");
  expect_usage("lora_rank: 8", "did you mean lora_r?");
  expect_usage("peft_config: 8", "run.yaml:1: peft_config is not an option; docs/options.md");
  expect_usage("", "--max-step is not an option; did you mean --max-steps?", {{"max_step", {"3"}}});
}

TEST(TrainConfig, KeysMayNotRepeat) {
  expect_usage("seed: 1\nmax_steps: 2\nseed: 1\n",
               "run.yaml:3: seed was given before, at run.yaml:1");
  expect_usage("lora_r: 8\nr: 8\n", "run.yaml:2: r was given before, at run.yaml:1");
  expect_usage("", "--seed is given more than once", {{"seed", {"1"}}, {"seed", {"2"}}});
}

TEST(TrainConfig, BrokenYamlIsNamedByLine) {
  expect_usage("seed: 1\nmax_steps: 2: 3\n", "run.yaml:2: not valid YAML");
  expect_usage("seed: 1\n  max_steps: [1\n", "not valid YAML");
  expect_usage("- seed\n", "run.yaml:1: expected lines of the form");
  expect_usage("seed: 1\n---\nseed: 2\n", "2 YAML documents");
  expect_usage("? [a, b]\n: 1\n", "a key must be a name");
  for (const char* text : {"&loop [*loop]", "[a, [b]]", "{a: b}"})
    expect_usage(std::string("dataset_name: ") + text + "\n", "expected a name or a list of names");
}

TEST(TrainConfig, KeysWithoutEffectAreNoted) {
  const TrainConfig config = parse("report_to: none\nbf16: true\ndataloader_num_workers: 4\n");
  ASSERT_EQ(config.without_effect.size(), 3u);
  EXPECT_EQ(config.without_effect[0].key, "bf16");
  EXPECT_EQ(config.without_effect[0].reason, "everything is computed in FP32");
  EXPECT_EQ(config.notes[0], "bf16: true has no effect here: everything is computed in FP32");
}

TEST(TrainConfig, KeysThatWouldChangeWhatIsLearnedAreRefused) {
  expect_unsupported("packing: true", "run.yaml:1: packing: true is not supported: packing is not");
  expect_unsupported("use_dora: true", "DoRA is not there yet");
  expect_unsupported("label_smoothing_factor: 0.1", "label smoothing");
  expect_unsupported("lr_scheduler_kwargs: {num_cycles: 2}", "no parameters");
  expect_unsupported("lora_modules_to_save: [lm_head]", "saved modules are not there yet");
  expect_unsupported("init_lora_weights: pissa", "A random, B zero");
  expect_unsupported("loss_type: dft", "negative log-likelihood");
}

TEST(TrainConfig, HarmlessValuesOfRefusedKeysAreAccepted) {
  const TrainConfig config = parse(
      "packing: false\nlabel_smoothing_factor: 0.0\nlr_scheduler_kwargs: {}\nmodules_to_save: "
      "null\n"
      "loss_type: chunked_nll\neval_strategy: no\nlora_task_type: CAUSAL_LM\nload_in_4bit: off\n"
      "deepspeed:\nneftune_noise_alpha: None\n");
  EXPECT_TRUE(config.notes.empty());
  EXPECT_FALSE(config.use_peft) << "a refused lora_ key asks for no adapter";
}

TEST(TrainConfig, AFlagCanTakeBackARefusedLine) {
  EXPECT_NO_THROW(parse("packing: true", {{"packing", {"false"}}}));
}

TEST(TrainConfig, AnyLoraKeyTurnsTheAdapterOn) {
  const TrainConfig config = parse("r: 4\n");
  EXPECT_TRUE(config.use_peft);
  EXPECT_EQ(config.lora_r, 4);
  EXPECT_EQ(config.given.at("use_peft").source, SettingSource::implied);
  expect_usage("use_peft: false\nlora_alpha: 8\n",
               "run.yaml:2: lora_alpha asks for an adapter and run.yaml:1: use_peft is false");
  EXPECT_FALSE(parse("use_peft: false\nuse_dora: false\n").use_peft);
}

TEST(TrainConfig, ReadsTargetModulesAsPeft) {
  using Kind = TargetModules::Kind;
  const auto targets = [](std::string_view yaml) { return *parse(yaml).lora_target_modules; };
  EXPECT_EQ(targets("lora_target_modules: all-linear").kind, Kind::all_linear);
  EXPECT_EQ(targets("lora_target_modules: [all-linear]").kind, Kind::all_linear);
  const TargetModules two{Kind::suffixes, {"q_proj", "v_proj"}, ""};
  EXPECT_EQ(targets("lora_target_modules: [q_proj, v_proj]"), two);
  EXPECT_EQ(targets("target_modules: q_proj, v_proj"), two);
  EXPECT_EQ(targets("lora_target_modules: self_attn.q_proj"),
            (TargetModules{Kind::suffixes, {"self_attn.q_proj"}, ""}));
  EXPECT_EQ(targets(R"(lora_target_modules: '.*layers\.[0-3]\..*_proj')"),
            (TargetModules{Kind::regex, {}, R"(.*layers\.[0-3]\..*_proj)"}));
  EXPECT_EQ(parse("", {{"lora_target_modules", {"q_proj", "v_proj"}}}).lora_target_modules, two);
  EXPECT_EQ(parse("lora_target_modules:").lora_target_modules, std::nullopt);
  expect_usage("lora_target_modules: []", "expected all-linear, a list of names");
  expect_usage("lora_target_modules: ''", "expected all-linear, a list of names");
}

TEST(TrainConfig, ListsOnTheCommandLineMayBeWrittenAsPeopleDo) {
  const std::vector<std::vector<std::string>> spellings = {
      {"a_b", "c"}, {"a_b,c"}, {"a_b,", "c"}, {"a_b, c"}, {"[a_b,c]"}, {"[a_b, c]"}, {"[a_b,", "c]"}, {"['a_b', \"c\"]"}};
  const std::vector<std::string> two = {"a_b", "c"};
  for (const auto& words : spellings) {
    EXPECT_EQ(parse("", {{"lora_target_modules", words}}).lora_target_modules->suffixes, two) << words[0];
    EXPECT_EQ(parse("", {{"dataset_name", words}}).dataset_name, two) << words[0];
  }
  EXPECT_EQ(parse("", {{"lora_target_modules", {"a_b c"}}}).lora_target_modules->suffixes, two);
  EXPECT_EQ(parse("", {{"dataset_name", {"a b.jsonl"}}}).dataset_name, std::vector<std::string>{"a b.jsonl"});
  EXPECT_EQ(parse("dataset_name: ['a,b.jsonl']\n").dataset_name, std::vector<std::string>{"a,b.jsonl"});
  EXPECT_EQ(parse("", {{"lora_target_modules", {"[qk]_(proj|[ab])"}}}).lora_target_modules->regex, "[qk]_(proj|[ab])");
  EXPECT_NO_THROW(parse("", {{"lora_modules_to_save", {"[]"}}}));
  try {
    parse("", {{"dataset_name", {"[]"}}});
    FAIL() << "an empty list names no data";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--dataset-name is \"[]\", expected a name"), std::string::npos) << error.what();
  }
}

TEST(TrainConfig, ReadsARankBudget) {
  const TrainConfig config = parse("lora_parameter_budget: 0.5%");
  EXPECT_DOUBLE_EQ(config.lora_parameter_budget->value, 0.005);
  EXPECT_TRUE(config.use_peft);
  expect_usage("lora_parameter_budget: 0.5%\nlora_r: 8\n", "exclude each other");
  expect_usage("lora_parameter_budget: 0.5", "expected a percentage such as 0.5%");
  expect_usage("lora_parameter_budget: 0%", "expected a percentage");
}

TEST(TrainConfig, WarmupIsGivenOnceAndWhereThereIsOne) {
  expect_usage("warmup_steps: 5\nwarmup_ratio: 0.1\n", "say the same thing twice");
  expect_usage("warmup_steps: 5\nlr_scheduler_type: constant\n", "use constant_with_warmup");
  expect_usage("warmup_steps: 2.5", "expected a whole number of steps");
  EXPECT_EQ(parse("warmup_ratio: 0.03").lr_schedule(50).warmup_steps, 2);
  EXPECT_EQ(parse("warmup_steps: 0.1").lr_schedule(7).warmup_steps, 1);
  EXPECT_EQ(parse("warmup_steps: 4").lr_schedule(7).warmup_steps, 4);
}

TEST(TrainConfig, MaxStepsWinsOverEpochsAndSaysSo) {
  EXPECT_EQ(parse("max_steps: 5\nnum_train_epochs: 2\n").notes.size(), 1u);
  EXPECT_TRUE(parse("max_steps: 5\n").notes.empty());
  expect_usage("max_steps: 0", "trains nothing");
  expect_usage("max_steps: -2", "expected at least -1");
  expect_usage("num_train_epochs: 0", "expected above 0");
}

TEST(TrainConfig, OtherContradictions) {
  expect_usage("use_cpu: true\ndevice: '1'\n", "use_cpu is true and run.yaml:2: device is \"1\"");
  EXPECT_EQ(parse("save_strategy: epoch\nsave_steps: 5\n").notes.size(), 1u);
}

TEST(TrainConfig, OfContradictingOptionsTheFlagWins) {
  const TrainConfig budget = parse("lora_r: 8\n", {{"lora_parameter_budget", {"0.5%"}}});
  EXPECT_TRUE(budget.lora_parameter_budget.has_value());
  EXPECT_FALSE(budget.given.contains("lora_r"));
  ASSERT_EQ(budget.notes.size(), 1u);
  EXPECT_EQ(budget.notes[0], "run.yaml:1: lora_r has no effect: --lora-parameter-budget is given on the command line");
  const TrainConfig rank = parse("lora_parameter_budget: 0.5%\n", {{"lora_r", {"8"}}});
  EXPECT_EQ(rank.lora_r, 8);
  EXPECT_FALSE(rank.lora_parameter_budget.has_value());
  expect_usage("", "exclude each other", {{"lora_r", {"8"}}, {"lora_parameter_budget", {"0.5%"}}});

  const TrainConfig full = parse("lora_r: 8\nlora_alpha: 4\n", {{"use_peft", {"false"}}});
  EXPECT_FALSE(full.use_peft);
  EXPECT_EQ(full.notes.size(), 2u);
  EXPECT_TRUE(parse("use_peft: false\n", {{"lora_r", {"8"}}}).use_peft);
  EXPECT_EQ(parse("warmup_steps: 5\n", {{"warmup_ratio", {"0.5"}}}).lr_schedule(10).warmup_steps, 5);
  EXPECT_EQ(parse("warmup_ratio: 0.5\n", {{"warmup_steps", {"2"}}}).lr_schedule(10).warmup_steps, 2);
  EXPECT_EQ(parse("warmup_steps: 5\n", {{"lr_scheduler_type", {"constant"}}}).warmup_steps, 0);
  expect_usage("lr_scheduler_type: constant\n", "use constant_with_warmup", {{"warmup_steps", {"5"}}});
  EXPECT_EQ(parse("use_cpu: true\n", {{"device", {"1"}}}).device, "1");
  EXPECT_EQ(parse("device: '1'\n", {{"use_cpu", {}}}).device, "cpu");
}

TEST(TrainConfig, AFlagWithoutAValueSaysSo) {
  expect_usage("", "--max-steps needs a value, an integer", {{"max_steps", {}}});
  expect_usage("", "--output-dir needs a value, text", {{"output_dir", {}}});
  expect_usage("", "--lr-scheduler-type needs a value, one of constant", {{"lr_scheduler_type", {}}});
  expect_usage("", "--lora-target-modules needs a value", {{"lora_target_modules", {}}});
  EXPECT_TRUE(parse("", {{"use_peft", {}}}).use_peft);
  EXPECT_EQ(parse("", {{"completion_only_loss", {}}}).completion_only_loss, true);
  EXPECT_EQ(parse("", {{"resume_from_checkpoint", {}}}).resume_from_checkpoint, "auto");
  EXPECT_EQ(parse("", {{"bf16", {}}}).notes.size(), 1u);
}

TEST(TrainConfig, ANegatedFlagIsExplained) {
  expect_usage("", "--no-use-peft is not an option; write --use-peft false", {{"no_use_peft", {}}});
}

TEST(TrainConfig, BrokenYamlHasItsPlace) {
  expect_usage("seed: 1\nlearning_rate: [1\nmax_steps: 2\n", "run.yaml:3: not valid YAML at column");
  expect_usage("seed: 1\nmax_steps: 2: 3\n", "run.yaml:2: not valid YAML at column 13: a colon where none can stand");
  expect_usage("a: {b\n", "a \"{\" has no \"}\"");
  expect_usage("seed: 1\n\tmax_steps: 2\n", "run.yaml:2: not valid YAML at column 1: a tab before a key");
  expect_usage(std::string_view("seed\0", 5), "run.yaml is not a text file");
}

TEST(TrainConfig, ResumeTakesTheBooleansOfTransformersToo) {
  EXPECT_EQ(parse("resume_from_checkpoint: true").resume_from_checkpoint, "auto");
  EXPECT_EQ(parse("resume_from_checkpoint: false").resume_from_checkpoint, std::nullopt);
  EXPECT_EQ(parse("resume_from_checkpoint: out/checkpoint-5").resume_from_checkpoint,
            "out/checkpoint-5");
}

TEST(TrainConfig, ModelAndDataAreNeededToTrain) {
  EXPECT_THROW(require_complete(parse("")), Error);
  EXPECT_THROW(require_complete(parse("model_name_or_path: m")), Error);
  EXPECT_NO_THROW(require_complete(parse("model_name_or_path: m\ndataset_name: d.jsonl\n")));
  EXPECT_NO_THROW(require_complete(parse("init_from_config: c.json\ndataset_name: d.jsonl\n")));
}

TEST(TrainConfig, AMissingFileIsAnIoError) {
  try {
    load_train_config("/nowhere/run.yaml", {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_STREQ(error.what(), "cannot read /nowhere/run.yaml: No such file or directory");
  }
}

TEST(TrainConfig, JsonSaysEachValueAndItsSource) {
  const Json json = to_json(parse("lora_r: 4\nreport_to: wandb\nlora_target_modules: [q_proj]\n",
                                  {{"learning_rate", {"1e-3"}}}));
  const Json& options = json.at("options");
  EXPECT_EQ(options.at("lora_r").dump(), R"({"value":4,"source":"file","place":"run.yaml:1"})");
  EXPECT_EQ(options.at("learning_rate").at("source").as_string(), "flag");
  EXPECT_EQ(options.at("seed").dump(), R"({"value":42,"source":"default"})");
  EXPECT_EQ(options.at("use_peft").dump(), R"({"value":true,"source":"implied","place":"lora_r"})");
  EXPECT_EQ(options.at("lora_target_modules").at("value").dump(), R"(["q_proj"])");
  EXPECT_EQ(options.at("lr_scheduler_type").at("value").as_string(), "linear");
  EXPECT_EQ(json.at("without_effect").as_array()[0].at("value").as_string(), "wandb");
}

}  // namespace
}  // namespace lemnos::train
