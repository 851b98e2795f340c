#include "cli/prompt_rows.h"

#include "base/error.h"
#include "base/json.h"
#include "data/jsonl.h"

namespace lemnos::cli {
namespace {

std::string text_of(const Json& row, std::string_view key, const std::string& place) {
  const Json* value = row.find(key);
  if (value == nullptr || !value->is_string())
    fail(ErrorKind::corrupt_input, "{}: \"{}\" is {}, expected a string", place, key,
         value == nullptr ? "missing" : value->type_name());
  return value->as_string();
}

PromptRow parse_prompt_row(std::string_view line, const std::string& place) {
  const Json row = Json::parse(line, place);
  if (!row.is_object())
    fail(ErrorKind::corrupt_input, "{}: the line is {}, expected a JSON object", place,
         row.type_name());
  PromptRow parsed{text_of(row, "prompt", place), std::nullopt};
  if (row.contains("completion")) parsed.completion = text_of(row, "completion", place);
  return parsed;
}

}  // namespace

std::vector<PromptRow> read_prompt_rows(const std::string& file) {
  std::vector<PromptRow> rows;
  data::for_each_json_line(file, [&](int64_t line, std::string_view text) {
    rows.push_back(parse_prompt_row(text, format("{}:{}", file, line)));
  });
  if (rows.empty()) fail(ErrorKind::corrupt_input, "{} has no rows", file);
  return rows;
}

}  // namespace lemnos::cli
