// Output that nobody reads, or that cannot be written: a run does not depend on its log, a result does.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/format.h"
#include "cli/outcome.h"
#include "train/training_checkpoint.h"

namespace lemnos::test {
namespace {

/// Owns a descriptor for a program's output.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

/// A pipe whose reader has gone, as behind `| head -3`.
int pipe_without_reader() {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  ::close(ends[0]);
  return ends[1];
}

Outcome lemnos(const ToyFolder& toy, const std::vector<std::string>& arguments, Streams streams) {
  Program program(toy.base().parent_path(), arguments, RLIM_INFINITY, streams);
  const int code = program.wait();
  return {code, program.out(), program.err()};
}

TEST(ClosedOutput, ARunWithoutAReaderOfItsLogTrainsToTheEnd) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  const Descriptor closed(pipe_without_reader()), full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const std::vector<Streams> cases = {{closed.number(), closed.number()},
                                      {Streams::kFile, full.number()},
                                      {Streams::kClosed, Streams::kClosed}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const fs::path output = toy / lemnos::format("run{}", i);
    EXPECT_EQ(lemnos(toy, train_command(recipe, output, {"--max-steps", "2"}), cases[i]).code, 0) << i;
    EXPECT_TRUE(fs::exists(output / "adapter_model.safetensors")) << i;
    EXPECT_EQ(read_file(output / "adapter_model.safetensors"), read_file(toy / "run0/adapter_model.safetensors")) << i;
  }
}

TEST(ClosedOutput, AnInterruptStillLeavesACheckpoint) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy, "save_strategy: no\n");
  const Descriptor closed(pipe_without_reader());
  for (const char* name : {"plain", "json"}) {
    const fs::path output = toy / name;
    std::vector<std::string> words = train_command(recipe, output, {"--num-train-epochs", "400"});
    if (std::string_view(name) == "json") words.push_back("--json");
    Program program(toy.base().parent_path(), words, RLIM_INFINITY, {closed.number(), closed.number()});
    while (!program.ended() && !fs::exists(output / "metrics.jsonl"))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.send(SIGINT);
    EXPECT_EQ(program.wait(), 130) << name;
    EXPECT_TRUE(train::newest_checkpoint(output).has_value()) << name;
  }
}

TEST(ClosedOutput, AResultThatNobodyReadsEndsWithTheCodeOfIo) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy), base = toy.base().string();
  write_file_atomic(toy.base() / "tokenizer.json", toy_tokenizer());
  const Descriptor closed(pipe_without_reader()), full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const std::vector<std::vector<std::string>> commands = {
      {"inspect", base},           {"inspect", base, "--json"}, {"architectures", "--json"}, {"train", "--help"},
      {"--version"},               {"plan", "-c", recipe},      {"generate", base, "--prompt", "A", "--max-new-tokens", "3"},
      {"devices", "--json"}};
  for (const auto& words : commands) {
    const Outcome gone = lemnos(toy, words, {closed.number(), Streams::kFile});
    EXPECT_EQ(gone.code, 5) << words.front();
    EXPECT_EQ(gone.err.find("error"), std::string::npos) << words.front() << ": " << gone.err;
    expect(lemnos(toy, words, {full.number(), Streams::kFile}), 5, {"cannot write to the standard output: No space left on device"});
    expect(lemnos(toy, words, {Streams::kClosed, Streams::kFile}), 5, {"cannot write to the standard output"});
  }
}

TEST(ClosedOutput, AnErrorKeepsItsCode) {
  const ToyFolder toy;
  const Descriptor closed(pipe_without_reader()), full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  for (const int out : {closed.number(), full.number()})
    expect(lemnos(toy, {"inspect", "--json", (toy / "nowhere").string()}, {out, Streams::kFile}), 5, {"there is no such folder"});
  EXPECT_EQ(lemnos(toy, {"trian", "--json"}, {closed.number(), closed.number()}).code, 2);
}

}  // namespace
}  // namespace lemnos::test
