// The program as people run it: exit codes, what goes to stdout, and that no moment is a bad one to
// be killed.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "cli/program.h"
#include "support/toy_run.h"
#include "train/training_checkpoint.h"

namespace lemnos::test {
namespace {

namespace fs = std::filesystem;
using train::ToyFolder;

struct Outcome {
  int code;
  std::string out, err;
};

Outcome lemnos(const ToyFolder& toy, const std::vector<std::string>& arguments) {
  Program program(toy.base().parent_path(), arguments);
  const int code = program.wait();
  return {code, program.out(), program.err()};
}

void expect(const Outcome& outcome, int code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(outcome.code, code) << outcome.err;
  for (const char* part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << " is not in: " << outcome.err;
}

/// run.yaml beside the data; `more` are lines of its own.
std::string write_recipe(const ToyFolder& toy, const std::string& more = "") {
  const fs::path file = toy / "run.yaml";
  write_file_atomic(file, "model_name_or_path: " + toy.base().string() + "\ndataset_name: " + toy.rows().string() +
                              "\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 2\nnum_train_epochs: 4\n"
                              "pad_to_multiple_of: 8\nlearning_rate: 1e-2\nsave_steps: 1\nlogging_steps: 1\n"
                              "use_cpu: true\nuse_peft: true\nlora_r: 4\nlora_dropout: 0.1\n" + more);
  return file.string();
}

std::vector<std::string> train_command(const std::string& recipe, const fs::path& output,
                                       const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"train", "-c", recipe, "--output-dir", output.string()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

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
  expect(lemnos(toy, {}), 2, {"--help"});
  expect(lemnos(toy, {"trian"}), 2, {"\"trian\" is not a command", "train"});
  expect(lemnos(toy, {"inspect", toy.base().string(), "--modulse"}), 2, {"--modulse"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--learning-rat", "1"})), 2, {"--learning-rat is not", "did you mean --learning-rate"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--learning-rate", "fast"})), 2, {"learning", "fast"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--model-name-or-path", (toy / "nowhere").string()})), 5, {"nowhere"});
  expect(lemnos(toy, {"train", "-c", (toy / "absent.yaml").string()}), 5, {"absent.yaml"});
  write_file_atomic(toy / "bad.yaml", "learning_rate: [1\nseed: }");
  expect(lemnos(toy, {"train", "-c", (toy / "bad.yaml").string()}), 2, {"bad.yaml"});
  expect(lemnos(toy, train_command(recipe, toy / "run", {"--dataset-name", (toy / "none.jsonl").string()})), 5, {"none.jsonl"});
  EXPECT_FALSE(fs::exists(toy / "run")) << "a run that cannot start leaves nothing";
}

TEST(Cli, DamagedAndUnknownModelsAreNamed) {
  const ToyFolder toy;
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
  const Outcome inspected = lemnos(toy, {"inspect", toy.base().string(), "--json"});
  ASSERT_EQ(inspected.code, 0) << inspected.err;
  EXPECT_EQ(Json::parse(inspected.out, "stdout").at("parameters").as_integer(), 5200);
  const Outcome planned = lemnos(toy, {"plan", "-c", recipe, "--json"});
  ASSERT_EQ(planned.code, 0) << planned.err;
  EXPECT_EQ(Json::parse(planned.out, "stdout").at("steps").as_integer(), 12);
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
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 130) << program.err();
  EXPECT_TRUE(Json::parse(program.out(), "stdout").at("interrupted").as_bool());
  EXPECT_TRUE(train::newest_checkpoint(output).has_value());

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
