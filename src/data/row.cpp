#include "data/row.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>

#include "base/error.h"

namespace lemnos::data {
namespace {

constexpr std::array kChatColumns = {"messages", "conversations"};
constexpr std::array kMultimodalColumns = {"image", "images", "audio", "audios", "video", "videos"};
/// They would change what an `input_ids` row means, so none of them may be ignored.
constexpr std::array kMeaningfulColumns = {"position_ids", "seq_lengths", "token_type_ids"};
constexpr std::array kMaskColumns = {"completion_mask", "assistant_masks"};

[[noreturn]] void refuse_chat(std::string_view what) {
  fail(ErrorKind::unsupported,
       "{}: chat data is not there yet; render the conversation to \"text\" or to \"prompt\" and "
       "\"completion\" strings",
       what);
}

void refuse_unsupported(const Json& row) {
  for (const char* column : kChatColumns)
    if (row.contains(column)) refuse_chat(format("the row has \"{}\"", column));
  for (const char* column : kMultimodalColumns)
    if (row.contains(column))
      fail(ErrorKind::unsupported, "the row has \"{}\": only text can be trained on", column);
}

const std::string& text_of(const Json& row, std::string_view column) {
  const Json* value = row.find(column);
  if (value == nullptr) fail(ErrorKind::corrupt_input, "\"{}\" is missing", column);
  if (value->is_array()) refuse_chat(format("\"{}\" is a list of messages", column));
  if (!value->is_string())
    fail(ErrorKind::corrupt_input, "\"{}\" is {}, expected a string", column, value->type_name());
  return value->as_string();
}

const std::string& text_not_empty(const Json& row, std::string_view column) {
  const std::string& text = text_of(row, column);
  if (text.empty()) fail(ErrorKind::corrupt_input, "\"{}\" is empty", column);
  return text;
}

std::vector<int32_t> integers_of(const Json& row, std::string_view column) {
  const Json& list = row.at(column);
  if (!list.is_array())
    fail(ErrorKind::corrupt_input, "\"{}\" is {}, expected a list of integers", column,
         list.type_name());
  std::vector<int32_t> values;
  values.reserve(list.as_array().size());
  for (const Json& item : list.as_array()) {
    if (!item.is_integer())
      fail(ErrorKind::corrupt_input, "\"{}\"[{}] is {}, expected an integer", column, values.size(),
           item.type_name());
    const int64_t value = item.as_integer();
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
      fail(ErrorKind::corrupt_input, "\"{}\"[{}] is {}, which no token id can be", column,
           values.size(), value);
    values.push_back(static_cast<int32_t>(value));
  }
  return values;
}

void check_same_length(std::string_view column, size_t found, size_t expected) {
  if (found != expected)
    fail(ErrorKind::corrupt_input, "\"{}\" has {} entries and \"input_ids\" has {}", column, found,
         expected);
}

void check_attention_mask(const Json& row, size_t length) {
  if (!row.contains("attention_mask")) return;
  const std::vector<int32_t> mask = integers_of(row, "attention_mask");
  check_same_length("attention_mask", mask.size(), length);
  if (std::any_of(mask.begin(), mask.end(), [](int32_t bit) { return bit != 1; }))
    fail(ErrorKind::corrupt_input,
         "\"attention_mask\" is not all ones; give the row without padding, the trainer pads");
}

TokenRow parse_token_row(const Json& row) {
  for (const char* column : kMeaningfulColumns)
    if (row.contains(column))
      fail(ErrorKind::unsupported, "\"{}\" beside \"input_ids\" is not supported", column);
  TokenRow parsed{integers_of(row, "input_ids"), std::nullopt};
  if (parsed.ids.empty()) fail(ErrorKind::corrupt_input, "\"input_ids\" is empty");
  check_attention_mask(row, parsed.ids.size());
  if (row.contains("labels")) {
    parsed.labels = integers_of(row, "labels");
    check_same_length("labels", parsed.labels->size(), parsed.ids.size());
    return parsed;
  }
  for (const char* column : kMaskColumns)
    if (row.contains(column))
      fail(ErrorKind::unsupported,
           "\"{}\" is not read; give \"labels\", -100 where there is no loss", column);
  return parsed;
}

void note_ignored(const Json& row, std::initializer_list<std::string_view> read,
                  std::set<std::string>& ignored) {
  for (const auto& [column, value] : row.as_object())
    if (std::find(read.begin(), read.end(), column) == read.end()) ignored.insert(column);
}

std::string keys_of(const Json& row) {
  std::string keys;
  for (const auto& [column, value] : row.as_object())
    keys += (keys.empty() ? "\"" : ", \"") + column + '"';
  return keys.empty() ? "no key" : keys;
}

}  // namespace

Row parse_row(const Json& row, std::string_view text_field,
              std::set<std::string>& ignored_columns) {
  if (!row.is_object())
    fail(ErrorKind::corrupt_input, "the line is {}, expected a JSON object", row.type_name());
  refuse_unsupported(row);
  if (row.contains("input_ids")) {
    note_ignored(row, {"input_ids", "labels", "attention_mask"}, ignored_columns);
    return parse_token_row(row);
  }
  const bool pair = row.contains("prompt") || row.contains("completion");
  if (pair && row.contains(text_field))
    fail(ErrorKind::corrupt_input,
         "the row has both \"{}\" and \"prompt\"/\"completion\"; keep the one to train on",
         text_field);
  if (pair) {
    note_ignored(row, {"prompt", "completion"}, ignored_columns);
    return PairRow{text_of(row, "prompt"), text_not_empty(row, "completion")};
  }
  if (row.contains(text_field)) {
    note_ignored(row, {text_field}, ignored_columns);
    return TextRow{text_not_empty(row, text_field)};
  }
  fail(ErrorKind::corrupt_input,
       "expected \"{}\", \"prompt\" and \"completion\", or \"input_ids\", found {}", text_field,
       keys_of(row));
}

}  // namespace lemnos::data
