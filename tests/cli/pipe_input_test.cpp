// Input from a pipe: the program says what it waits for.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cli/outcome.h"

namespace lemnos::test {
namespace {

TEST(PipeInput, ADataSetThatHasNoWriterYetIsNamed) {
  const ToyFolder toy;
  const std::string recipe = write_recipe(toy);
  const fs::path pipe = toy / "rows.pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Program program(toy.base().parent_path(), {"plan", "-c", recipe, "--dataset-name", pipe.string()});
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const std::string line = "reading " + pipe.string();
  while (program.err().find(line) == std::string::npos && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_NE(program.err().find(line), std::string::npos) << program.err();
  ASSERT_FALSE(program.ended()) << program.err();
  std::ofstream(pipe) << train::toy_rows();
  EXPECT_EQ(program.wait(), 0) << program.err();
  EXPECT_NE(program.out().find("steps                12"), std::string::npos) << program.out();
  EXPECT_EQ(lemnos(toy, {"plan", "-c", recipe}).err.find("reading"), std::string::npos) << "a file is read at once";
}

}  // namespace
}  // namespace lemnos::test
