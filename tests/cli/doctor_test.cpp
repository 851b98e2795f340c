// `lemnos doctor`, and the check before a training.
#include <cstdlib>

#include "cli/outcome.h"

namespace lemnos::test {
namespace {

/// A cache folder of its own for the programs of a test.
class OwnCache {
 public:
  OwnCache() : dir_("lemnos-cache") {
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    ::setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
  }
  ~OwnCache() {
    if (before_.empty()) ::unsetenv("XDG_CACHE_HOME");
    else ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }

 private:
  TemporaryDir dir_;
  std::string before_;
};

TEST(Doctor, ChecksAModelAndARunOnBothPaths) {
  const ToyFolder toy;
  for (const bool gpu_path : {false, true}) {
    std::vector<std::string> words{"doctor", "-c", write_recipe(toy), "--json"};
    if (gpu_path) words.push_back("--gpu-path");
    const Outcome outcome = lemnos(toy, words);
    ASSERT_EQ(outcome.code, 0) << outcome.err << outcome.out;
    const Json document = Json::parse(outcome.out, "stdout");
    EXPECT_TRUE(document.at("ok").as_bool());
    EXPECT_EQ(document.at("path").as_string(), gpu_path ? "gpu" : "cpu");
    EXPECT_EQ(document.at("runs").as_integer(), 20);
    EXPECT_EQ(document.at("functions").as_array().size(), 10u);
    bool has_optimizer = false;
    for (const Json& row : document.at("cases").as_array()) {
      EXPECT_TRUE(row.at("ok").as_bool());
      EXPECT_GT(row.at("compared").as_integer(), 0) << row.dump();
      has_optimizer |= row.at("op").as_string() == "adamw";
    }
    EXPECT_TRUE(has_optimizer);
  }
}

TEST(Doctor, PrintsATableAndRefusesTwoQuestionsAtOnce) {
  const ToyFolder toy;
  const Outcome table = lemnos(toy, {"doctor", toy.base().string(), "--device", "cpu"});
  EXPECT_EQ(table.code, 0) << table.err << table.out;
  for (const char* part : {"all right", "sigmoid", "attention_grad", "gemm_cpu.bf16("})
    EXPECT_NE(table.out.find(part), std::string::npos) << part << " is not in " << table.out;
  expect(lemnos(toy, {"doctor", toy.base().string(), "-c", write_recipe(toy)}), 2, {"not both"});
}

TEST(Doctor, ATrainingChecksItsKernelsOnce) {
  const ToyFolder toy;
  const OwnCache cache;
  const std::string recipe = write_recipe(toy);
  const Outcome first = lemnos(toy, train_command(recipe, toy / "first", {"--max-steps", "1"}));
  expect(first, 0, {"kernel check: "});
  const Outcome second = lemnos(toy, train_command(recipe, toy / "second", {"--max-steps", "1"}));
  EXPECT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(second.err.find("kernel check"), std::string::npos) << second.err;
}

}  // namespace
}  // namespace lemnos::test
