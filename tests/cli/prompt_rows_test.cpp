#include "cli/prompt_rows.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "io/temporary_dir.h"

namespace lemnos::cli {
namespace {

std::vector<PromptRow> read(const std::string& content) {
  const TemporaryDir folder("prompt-rows");
  const std::string file = folder.path() / "prompt_rows.jsonl";
  std::ofstream(file) << content;
  return read_prompt_rows(file);
}

std::string refusal(const std::string& content) {
  try {
    read(content);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
    return error.what();
  }
  return "accepted";
}

TEST(PromptRows, CompletionIsOptionalAndOtherKeysArePassedOver) {
  const auto rows =
      read("{\"prompt\":\"a\"}\n\n{\"id\":1,\"prompt\":\"b\",\"completion\":\" c\\n\"}\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].prompt, "a");
  EXPECT_EQ(rows[0].completion, std::nullopt);
  EXPECT_EQ(rows[1].completion, " c\n");
}

TEST(PromptRows, RefusalsNameTheLine) {
  EXPECT_NE(
      refusal("{\"prompt\":\"a\"}\n{\"completion\":\"b\"}\n").find(":2: \"prompt\" is missing"),
      std::string::npos);
  EXPECT_NE(refusal("{\"prompt\":\"a\",\"completion\":3}\n").find(":1: \"completion\" is"),
            std::string::npos);
  EXPECT_NE(refusal("[]\n").find(":1: the line is"), std::string::npos);
  EXPECT_NE(refusal("\n").find("has no rows"), std::string::npos);
}

}  // namespace
}  // namespace lemnos::cli
