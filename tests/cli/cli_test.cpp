// The program as people run it: exit codes, what goes to stdout, and that no moment is a bad one to
// be killed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "cli/outcome.h"
#include "train/training_checkpoint.h"

namespace lemnos::test {
namespace {

TEST(Cli, HelpAndVersionGoToStdout) {
  const ToyFolder toy;
  const Outcome help = lemnos(toy, {"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"train", "plan", "inspect", "verify", "generate", "devices"})
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
  EXPECT_EQ(lemnos(toy, {"train", "--help"}).code, 0);
  const Outcome version = lemnos(toy, {"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_EQ(version.out, "lemnos " LEMNOS_VERSION "\n");
}

TEST(Cli, MistakesHaveTheirExitCodes) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  expect(lemnos(toy, {"trian"}), 2, {"\"trian\" is not a command, did you mean train?", "generate"});
  expect(lemnos(toy, {"inspect", toy.base().string(), "--modulse"}), 2, {"--modulse is not an option of `lemnos inspect`; did you mean --modules?"});
  expect(lemnos(toy, {"bench", "c.json", "--frobnicate=3"}), 2, {"--frobnicate is not an option", "`lemnos bench --help`"});
  expect(lemnos(toy, {"--device", "cpu", "devices"}), 2, {"--device", "come after it"});
  expect(lemnos(toy, {"generate", toy.base().string(), "--prompt"}), 2, {"--prompt needs a value"});
  expect(lemnos(toy, {"inspect", ""}), 2, {"MODEL is empty"});
  expect(lemnos(toy, {"train", "-c", ""}), 2, {"--config is empty"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--pad-to-multiple-of", "9000000000000000000"})), 2, {"at most 1000000000"});
  expect(lemnos(toy, {"plan", "-c", recipe, "--per-device-train-batch-size", "999999999"}), 3, {"per_device_train_batch_size"});
  expect(lemnos(toy, {"inspect", "a", "b"}), 2, {"\"b\" is one argument too many for `lemnos inspect`"});
  expect(lemnos(toy, {"train", "-c", "a", "-c", "b"}), 2, {"--config is given more than once"});
  expect(lemnos(toy, {"train", recipe}), 2, {"did you mean -c " + recipe});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--max-steps"})), 2, {"--max-steps needs a value, an integer"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--max-steps", "2", "-o", "out"})), 2, {"\"-o\" is not an option"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--learning-rat", "1"})), 2, {"--learning-rat is not", "did you mean --learning-rate"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--learning-rate", "fast"})), 2, {"learning", "fast"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--model-name-or-path", (toy / "nowhere").string()})), 5, {"nowhere"});
  expect(lemnos(toy, {"train", "-c", (toy / "absent.yaml").string()}), 5, {"absent.yaml"});
  write_file_atomic(toy / "bad.yaml", "learning_rate: [1\nseed: }");
  expect(lemnos(toy, {"train", "-c", (toy / "bad.yaml").string()}), 2, {"bad.yaml"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--dataset-name", (toy / "none.jsonl").string()})), 5, {"none.jsonl"});
  EXPECT_FALSE(fs::exists(toy / "run")) << "a run that cannot start leaves nothing";
}

TEST(Cli, WithoutACommandTheyAreListedOnStderr) {
  const ToyFolder toy;
  for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--json"}}) {
    const Outcome outcome = lemnos(toy, words);
    expect(outcome, 2, {"no command is given", "train          Full training", "inspect", "not there yet: ", "eval"});
    EXPECT_EQ(outcome.out.empty(), words.empty()) << "with --json the error is a document";
  }
}

TEST(Cli, CommandsThatAreNotThereYetSaySo) {
  const ToyFolder toy;
  expect(lemnos(toy, {"merge", "a", "--adapter", "b"}), 3, {"`lemnos merge` is not there yet"});
  EXPECT_NE(lemnos(toy, {"eval", "--help"}).out.find("This command is not there yet."), std::string::npos);
  const std::string help = lemnos(toy, {"--help"}).out;
  EXPECT_LT(help.find("train"), help.find("Not there yet"));
  EXPECT_GT(help.find("unmerge"), help.find("Not there yet"));
}

TEST(Cli, HelpShowsDefaults) {
  const ToyFolder toy;
  EXPECT_NE(lemnos(toy, {"generate", "--help"}).out.find("(default: 128)"), std::string::npos);
  const std::string help = lemnos(toy, {"train", "--help"}).out;
  for (const char* part : {"--learning-rate (a number, at least 0; default: 2e-05)", "--max-steps", "--lora-r (an integer, at least 1 and at most 1000000000; default: 16)"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " in: " << help;
}

TEST(Cli, WrongPathsSayWhatIsThereAndWhatToGive) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy), base = toy.base().string(), folder = toy.base().parent_path().string();
  fs::create_directories(toy / "adapter");
  write_file_atomic(toy / "adapter/adapter_config.json", "{}");
  const std::string adapter = (toy / "adapter").string();
  expect(lemnos(toy, {"train", "-c", base}), 5, {"cannot read " + base + ": it is a folder"});
  expect(lemnos(toy, {"train", "-c", (toy / "absent.yaml").string()}), 5, {"No such file or directory"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--dataset-name", base})), 5, {"holds no *.jsonl file"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--model-name-or-path", adapter})), 5, {"model_name_or_path: ", "PEFT adapter"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--model-name-or-path", "org/name"})), 5, {"hf download org/name"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--resume-from-checkpoint", base})), 5, {"not a checkpoint folder"});
  expect(lemnos(toy, train_command(recipe, toy.rows())), 5, {"rows.jsonl is a file"});
  expect(lemnos(toy, {"inspect", folder}), 5, {"there is one in " + base});
  expect(lemnos(toy, {"inspect", adapter}), 5, {"PEFT adapter"});
  expect(lemnos(toy, {"generate", adapter, "--prompt", "a"}), 5, {"PEFT adapter"});
  expect(lemnos(toy, {"generate", base + "/config.json", "--prompt", "a"}), 5, {"give its folder, " + base});
  expect(lemnos(toy, {"verify", base}), 5, {"no reference.json", "whole model"});
  expect(lemnos(toy, {"bench", adapter}), 5, {"PEFT adapter"});
  expect(lemnos(toy, {"bench", base, "--steps", "1", "--length", "16", "--device", "cpu"}), 0, {});
  EXPECT_FALSE(fs::exists(toy / "run"));
}

TEST(Cli, OutputThatCannotBeWrittenIsAnError) {
  const ToyFolder toy;
  const std::string command = binary() + " inspect " + toy.base().string() + " > /dev/full 2> " + (toy / "stderr").string();
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_NE(read_file(toy / "stderr").find("standard output: No space left on device"), std::string::npos);
}

TEST(Cli, RowsBeyondTheModelsPositionsAreNoted) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe}).err.find("max_position_embeddings"), std::string::npos);
  std::string row = "{\"input_ids\": [1";
  for (int i = 0; i < 70; ++i) row += ", 5";
  write_file_atomic(toy.rows(), row + "]}\n");
  expect(lemnos(toy, {"plan", "-c", recipe}), 0, {"71 tokens", "made for 64"});
}

TEST(Cli, LengthsBeyondAttentionsAreRefusedWithTheOptionToChange) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy), base = toy.base().string();
  write_file_atomic(toy.base() / "tokenizer.json", toy_tokenizer());
  expect(lemnos(toy, {"generate", base, "--prompt", "AB", "--max-new-tokens", "1048576"}), 2,
         {"--max-new-tokens is 1048576 and the prompt has 2 tokens", "at most 32704", "give --max-new-tokens 32702 or less"});
  expect(lemnos(toy, {"generate", base, "--prompt", std::string(32704, 'A')}), 2, {"the prompt has 32704 tokens", "a shorter prompt"});
  write_file_atomic(toy / "prompts.jsonl", "{\"prompt\": \"A\"}\n{\"prompt\": \"ABC\"}\n");
  expect(lemnos(toy, {"generate", base, "--prompts", (toy / "prompts.jsonl").string(), "--max-new-tokens", "32702"}), 2,
         {"the prompt of row 2 has 3 tokens", "32701 or less"});
  EXPECT_NE(lemnos(toy, {"generate", "--help"}).out.find("at most 32704"), std::string::npos);

  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe, "--max-length", "100000"}).code, 0) << "no row is that long";
  expect(lemnos(toy, {"plan", "-c", recipe, "--pad-to-multiple-of", "40000"}), 2, {"pad_to_multiple_of", "to 40000", "at most 32768"});
  std::string row = "{\"input_ids\": [1";
  for (int i = 0; i < 33000; ++i) row += ", 5";
  write_file_atomic(toy.rows(), train::toy_rows() + row + "]}\n");
  expect(lemnos(toy, {"plan", "-c", recipe, "--max-length", "null"}), 2,
         {"rows.jsonl:11: the row has 33001 tokens", "at most 32768", "set max_length to 32768 or less"});
  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe}).code, 0) << "cut at 1024";
}

TEST(Cli, ArchitecturesListSurfacesAndFeaturesInColumns) {
  const ToyFolder toy;
  const std::string out = lemnos(toy, {"architectures"}).out;
  std::istringstream lines(out);
  std::vector<size_t> columns;  // where the heading's cells begin
  int64_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  surface") || line.starts_with("  feature"))
      columns = {line.find(" base"), line.find(" lora")};
    else if (line.starts_with("  ")) {
      for (const size_t column : columns) {
        ASSERT_LT(column + 1, line.size()) << line;
        EXPECT_TRUE(line[column - 1] == ' ' && line[column] == ' ' && line[column + 1] != ' ') << line;
      }
      ++rows;
    }
  }
  EXPECT_GT(rows, 100);
  for (const char* feature : {"  attention:gqa  ", "  rope:yarn  ", "  tied_embeddings with pad_token  ", "  weights:bf16  "})
    EXPECT_NE(out.find(feature), std::string::npos) << feature;

  const Json document = Json::parse(lemnos(toy, {"architectures", "--json"}).out, "stdout");
  const Json& llama = document.at("families").as_array().front();
  EXPECT_EQ(llama.at("name").as_string(), "llama");
  std::map<std::string, Json> features;
  for (const Json& feature : llama.at("features").as_array()) features[feature.at("name").as_string()] = feature.at("stages");
  EXPECT_TRUE(features.at("attention:gqa").contains("base") && features.at("attention:gqa").contains("lora"));
  EXPECT_TRUE(features.at("weights:bf16").contains("lora"));
  EXPECT_FALSE(features.contains("moe:top_k"));
  const std::string state = features.at("attention:gqa").at("base").as_string();
  EXPECT_TRUE(state == "proven" || state == "stale") << state;
}

TEST(Cli, EpochsThatWouldTakeTooManyStepsAreRefused) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  expect(lemnos(toy, {"plan", "-c", recipe, "--num-train-epochs", "1e9"}), 2, {"num_train_epochs is 1000000000", "at most 1000000000"});
  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe, "--num-train-epochs", "1e8"}).code, 0);
}

TEST(Cli, PlanSumsUpTheModules) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  const std::string plan = lemnos(toy, {"plan", "-c", recipe}).out;
  EXPECT_NE(plan.find("q_proj, v_proj in 2 layers: 4 modules (r=4)"), std::string::npos) << plan;
  EXPECT_NE(plan.find(" KiB"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("model.layers.0"), std::string::npos) << plan;
  EXPECT_NE(lemnos(toy, {"plan", "-c", recipe, "--modules"}).out.find("  model.layers.1.self_attn.v_proj\n"), std::string::npos);
}

TEST(Cli, DamagedAndUnknownModelsAreNamed) {
  const ToyFolder toy;
  Json shallow = train::toy_model_json();
  shallow.set("num_hidden_layers", 1);
  write_file_atomic(toy.base() / "config.json", shallow.dump());
  expect(lemnos(toy, {"inspect", toy.base().string()}), 4, {"Left over (9)", "model.layers.1.mlp.down_proj.weight"});
  const fs::path weights = toy.base() / "model.safetensors";
  const std::string sound = read_file(weights);
  write_file_atomic(weights, sound.substr(0, sound.size() - 8));
  expect(lemnos(toy, {"inspect", toy.base().string()}), 4, {"model.safetensors"});
  write_file_atomic(weights, sound);
  Json config = train::toy_model_json();
  config.set("model_type", "mamba");
  write_file_atomic(toy.base() / "config.json", config.dump());
  expect(lemnos(toy, {"inspect", toy.base().string()}), 3, {"mamba", "llama"});
  write_file_atomic(toy.base() / "config.json", "{\"model_type\": ");
  expect(lemnos(toy, {"inspect", toy.base().string()}), 4, {"config.json"});
}

TEST(Cli, JsonIsOneDocumentOnStdout) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"inspect", toy.base().string(), "--json"},
                                                {"--json", "inspect", toy.base().string()}}) {
    const Outcome inspected = lemnos(toy, words);
    ASSERT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_EQ(Json::parse(inspected.out, "stdout").at("parameters").as_integer(), 5200);
  }
  const Outcome planned = lemnos(toy, {"plan", "-c", recipe, "--json"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_EQ(Json::parse(planned.out, "stdout").at("steps").as_integer(), 12);
  EXPECT_EQ(Json::parse(planned.out, "stdout").at("rank").as_integer(), 4);
  const Json inspected = Json::parse(lemnos(toy, {"inspect", toy.base().string(), "--json"}).out, "stdout");
  EXPECT_EQ(inspected.at("features").as_array().size(), 4u);
  EXPECT_TRUE(inspected.at("proof").at("base").at("proven").as_bool());
  const Json architectures = Json::parse(lemnos(toy, {"architectures", "--json"}).out, "stdout");
  EXPECT_GE(architectures.at("families").as_array().size(), 5u);
  const Outcome devices = lemnos(toy, {"devices", "--json"});
  ASSERT_EQ(devices.code, 0) << devices.err;
  Json::parse(devices.out, "stdout");
}

TEST(Cli, InterruptLeavesACheckpointAndAFullDiskAMessage) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy, "save_strategy: no\n");
  const fs::path output = toy / "run";
  Program program(toy.base().parent_path(), train_command(recipe, output, {"--json", "--num-train-epochs", "400"}));
  while (!program.ended() && !fs::exists(output / "metrics.jsonl"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  for (int i = 0; i < 2; ++i) program.send(SIGINT);  // a parent sends it on: the same wish
  EXPECT_EQ(program.wait(), 130) << program.err();
  EXPECT_TRUE(Json::parse(program.out(), "stdout").at("interrupted").as_bool());
  EXPECT_NE(program.err().find("once more to stop at once"), std::string::npos) << program.err();
  EXPECT_TRUE(train::newest_checkpoint(output).has_value());

  Program closed(toy.base().parent_path(), train_command(recipe, toy / "closed", {"--num-train-epochs", "400"}));
  while (!closed.ended() && !fs::exists(toy / "closed/metrics.jsonl"))
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  closed.send(SIGHUP);
  EXPECT_EQ(closed.wait(), 130) << closed.err();
  EXPECT_TRUE(train::newest_checkpoint(toy / "closed").has_value());

  Program full(toy.base().parent_path(), train_command(recipe, toy / "full", {"--max-steps", "1"}), 4096);
  EXPECT_EQ(full.wait(), 5) << full.err();
  EXPECT_FALSE(fs::exists(toy / "full/adapter_config.json"));
}

using Clock = std::chrono::steady_clock;

/// Starts the run, kills it at a random moment of the time `whole` that a run takes. True when it was
/// killed; else it had ended by itself, and `whole` becomes the time it took.
bool kill_somewhere(Program& program, Clock::duration& whole, std::mt19937& random) {
  const auto start = Clock::now();
  const double part = std::uniform_real_distribution<double>(0.1, 1.0)(random);
  const auto moment = start + std::chrono::duration_cast<Clock::duration>(whole * part);
  while (!program.ended() && Clock::now() < moment) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (program.ended()) {
    whole = Clock::now() - start;
    EXPECT_EQ(program.wait(), 0) << program.err();
    return false;
  }
  program.send(SIGKILL);
  EXPECT_EQ(program.wait(), 128 + SIGKILL) << program.err();
  return true;
}

/// $LEMNOS_KILLS times (10 unless set) the run is killed at a random moment and continued.
TEST(Cli, KilledAtAnyMomentItEndsInTheSameBits) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  const fs::path folder = toy.base().parent_path();
  const auto start = Clock::now();
  ASSERT_EQ(lemnos(toy, train_command(recipe, toy / "whole")).code, 0);
  // With cold caches far longer than the runs that follow; kill_somewhere corrects it.
  Clock::duration whole = Clock::now() - start;

  const char* wanted = std::getenv("LEMNOS_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 10;
  std::mt19937 random(7);
  int killed = 0;
  for (int life = 0; killed < kills; ++life) {
    ASSERT_LE(life, kills + 10) << "the runs end before they are killed";
    const fs::path output = toy / ("killed-" + std::to_string(life));
    const std::vector<std::string> command = train_command(recipe, output, {"--resume-from-checkpoint", "auto"});
    for (bool again = true; again && killed < kills;) {
      Program program(folder, command);
      again = kill_somewhere(program, whole, random);
      killed += again;
      if (HasFailure()) return;
    }
    const Outcome last = lemnos(toy, command);
    ASSERT_EQ(last.code, 0) << last.err;
    for (const char* file : {"adapter_model.safetensors", "checkpoint-12/optimizer.safetensors", "checkpoint-12/trainer_state.json"})
      EXPECT_TRUE(read_file(toy / "whole" / file) == read_file(output / file)) << file;
    for (const auto& entry : fs::directory_iterator(output))
      EXPECT_EQ(entry.path().filename().string().find(".partial"), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace lemnos::test
