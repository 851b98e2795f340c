#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lemnos::cli {

/// A row of a `--prompts` file.
struct PromptRow {
  std::string prompt;
  std::optional<std::string> completion;  // the text expected after the prompt
};

/// Reads JSONL rows {"prompt": TEXT, "completion": TEXT?}; other keys are passed over. Error
/// {corrupt_input} names file and line of a row that is wrong, and a file without rows.
std::vector<PromptRow> read_prompt_rows(const std::string& file);

}  // namespace lemnos::cli
