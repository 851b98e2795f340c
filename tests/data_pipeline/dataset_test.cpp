#include "data/dataset.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data_pipeline/toy_encoder.h"

namespace lemnos::data {
namespace {

using testing::Test;

class DatasetFile : public Test {
 protected:
  Dataset load(std::string_view text, std::optional<int64_t> max_length = {}) {
    return load_dataset({{folder_.write("rows.jsonl", text)}, "text", {max_length, {}}}, encoder_);
  }
  /// The error that loading ends in; fails the test when there is none.
  Error error_of(std::string_view text, std::optional<int64_t> max_length = {}) {
    try {
      load(text, max_length);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error for " << text;
    return {ErrorKind::io, ""};
  }
  void expect_error(std::string_view text, ErrorKind kind, const std::string& part) {
    const Error error = error_of(text);
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }

  TemporaryFolder folder_{"dataset_test"};
  ToyEncoder encoder_;
};

TEST_F(DatasetFile, ReadsTheThreeKindsOfRows) {
  const Dataset dataset = load(
      "\xef\xbb\xbf{\"text\":\"ab\"}\r\n"
      "\n"
      "{\"prompt\":\"a\",\"completion\":\"b\",\"id\":7}\n"
      "{\"input_ids\":[5,6],\"labels\":[-100,6],\"attention_mask\":[1,1]}");
  ASSERT_EQ(dataset.examples.size(), 3u);
  EXPECT_EQ(dataset.examples[1].line, 3);
  EXPECT_EQ(dataset.report.rows, 3);
  EXPECT_EQ(dataset.report.blank_lines, 1);
  EXPECT_EQ(dataset.report.tokens, 4 + 4 + 2);
  EXPECT_EQ(dataset.report.supervised_tokens, 3 + 2 + 1);
  EXPECT_EQ(dataset.report.longest, 4);
  EXPECT_EQ(dataset.report.ignored_columns, std::set<std::string>{"id"});
}

TEST_F(DatasetFile, WrongRowsAreNamedByFileAndLine) {
  const ErrorKind corrupt = ErrorKind::corrupt_input;
  const std::string good = "{\"text\":\"a\"}\n";
  expect_error(good + "{\"text\":", corrupt, "rows.jsonl:2: not valid JSON");
  expect_error(good + "{\"text\":\"\xff\"}", corrupt, "rows.jsonl:2: not valid JSON");
  expect_error(good + "{\"text\":\"\\ud800\"}", corrupt, "rows.jsonl:2");
  expect_error("{\"text\":3}", corrupt, "\"text\" is an integer, expected a string");
  expect_error("{\"text\":\"\"}", corrupt, "\"text\" is empty");
  expect_error("[1]", corrupt, "expected a JSON object");
  expect_error("a\nb", corrupt, "A data file holds one JSON object per line");
  expect_error("[1]", corrupt, "A data file holds one JSON object per line");
  expect_error("{}", corrupt, "found no key");
  expect_error("{\"body\":\"x\"}", corrupt, "found \"body\"");
  expect_error("{\"prompt\":\"x\"}", corrupt, "\"completion\" is missing");
  expect_error("{\"prompt\":\"x\",\"completion\":\"\"}", corrupt, "\"completion\" is empty");
  expect_error("{\"prompt\":\"x\",\"completion\":\"y\",\"text\":\"z\"}", corrupt, "both");
  expect_error("{\"input_ids\":[]}", corrupt, "\"input_ids\" is empty");
  expect_error("{\"input_ids\":[1,2.0]}", corrupt, "\"input_ids\"[1] is a real number");
  expect_error("{\"input_ids\":[1,true]}", corrupt, "\"input_ids\"[1] is a boolean");
  expect_error("{\"input_ids\":[1,9999999999]}", corrupt, "which no token id can be");
  expect_error("{\"input_ids\":[1,48]}", corrupt, "rows.jsonl:1: token 1 has id 48");
  expect_error("{\"input_ids\":[1,2],\"labels\":[1]}", corrupt, "\"labels\" has 1 entries");
  expect_error("{\"input_ids\":[1,2],\"attention_mask\":[1,0]}", corrupt, "not all ones");
}

TEST_F(DatasetFile, WhatIsNotThereYetIsRefused) {
  const ErrorKind unsupported = ErrorKind::unsupported;
  expect_error("{\"messages\":[]}", unsupported,
               "rows.jsonl:1: the row has \"messages\": chat data");
  expect_error("{\"prompt\":[],\"completion\":[]}", unsupported, "chat data is not there yet");
  expect_error("{\"text\":\"a\",\"images\":[]}", unsupported, "only text");
  expect_error("{\"input_ids\":[1,2],\"completion_mask\":[0,1]}", unsupported, "give \"labels\"");
  expect_error("{\"input_ids\":[1,2],\"position_ids\":[0,0]}", unsupported, "position_ids");
}

TEST_F(DatasetFile, ListsTheFirstTenWrongRows) {
  std::string text;
  for (int i = 0; i < 12; ++i) text += "{}\n";
  const std::string message = error_of(text).what();
  EXPECT_NE(message.find("12 of 12 data rows"), std::string::npos);
  EXPECT_NE(message.find("rows.jsonl:10:"), std::string::npos);
  EXPECT_EQ(message.find("rows.jsonl:11:"), std::string::npos);
}

TEST_F(DatasetFile, CaseB3RowsWithoutATargetAreNamedAndDropped) {
  const Dataset dataset = load(
      "{\"prompt\":\"abcdefghijk\",\"completion\":\"xyz\"}\n"
      "{\"text\":\"ab\"}\n"
      "{\"input_ids\":[3,4],\"labels\":[3,-100]}\n"
      "{\"input_ids\":[3]}\n",
      10);
  ASSERT_EQ(dataset.examples.size(), 1u);
  const auto& dropped = dataset.report.dropped;
  ASSERT_EQ(dropped.size(), 3u);
  EXPECT_EQ(dropped[0].reason, DropReason::cut_by_max_length);
  EXPECT_EQ(dropped[1].reason, DropReason::all_ignored);
  EXPECT_EQ(dropped[2].reason, DropReason::too_short);
  EXPECT_EQ(dropped[2].place.line, 4);
  const std::vector<std::string> lines = describe(dataset.report);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_NE(lines[0].find("1 of 4 rows kept"), std::string::npos) << lines[0];
  EXPECT_NE(lines[3].find("rows.jsonl:1"), std::string::npos) << lines[3];
  EXPECT_EQ(to_json(dataset.report).at("dropped").at("too_short").as_array().size(), 1u);
}

TEST_F(DatasetFile, CaseB3NoRowLeftIsAnError) {
  const Error error = error_of("{\"prompt\":\"abcdefghijk\",\"completion\":\"xyz\"}\n", 10);
  EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
  EXPECT_NE(std::string(error.what()).find("raise it"), std::string::npos) << error.what();
  expect_error("", ErrorKind::corrupt_input, "no rows");
}

TEST_F(DatasetFile, CaseB5MergedBordersAreReported) {
  const Dataset dataset =
      load("{\"prompt\":\"x.\",\"completion\":\"memory\"}\n{\"text\":\"ab\"}\n");
  ASSERT_EQ(dataset.report.boundary_merged.size(), 1u);
  EXPECT_EQ(dataset.report.boundary_merged[0].line, 1);
}

TEST_F(DatasetFile, FoldersAndSeveralFilesKeepTheirOrder) {
  const TemporaryFolder parts("dataset_test_parts");
  parts.write("b.jsonl", "{\"text\":\"b\"}\n");
  parts.write("a.jsonl", "{\"text\":\"a\"}\n");
  parts.write("notes.txt", "not data");
  const std::string extra = folder_.write("extra.jsonl", "{\"text\":\"c\"}\n");
  const Dataset dataset = load_dataset({{extra, parts.path()}, "text", {}}, encoder_);
  ASSERT_EQ(dataset.examples.size(), 3u);
  EXPECT_EQ(dataset.examples[0].ids[1], 12);
  EXPECT_EQ(dataset.examples[1].ids[1], 10);
  EXPECT_EQ(dataset.examples[2].file, 2);
}

TEST_F(DatasetFile, MissingFilesAndEmptyFoldersAreIoErrors) {
  const TemporaryFolder empty("dataset_test_empty");
  for (const std::string& path : {folder_.path() + "/none.jsonl", empty.path()}) {
    try {
      load_dataset({{path}, "text", {}}, encoder_);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
    }
  }
}

TEST_F(DatasetFile, PackedFilesAndOtherFormatsAreNamed) {
  using namespace std::string_view_literals;
  const auto refused = [&](std::string_view start, const std::string& part) {
    expect_error(std::string(start) + std::string("\0\0rest of it\n{\"text\":\"a\"}\n", 28), ErrorKind::unsupported, part);
  };
  refused("\x1f\x8b\x08", "rows.jsonl is gzip-compressed, expected JSON lines; unpack it: gunzip -k " + folder_.path() + "/rows.jsonl");
  refused("\x28\xb5\x2f\xfd", "zstd-compressed");
  refused("\xfd\x37zXZ\0"sv, "xz-compressed");
  refused("BZh9", "bzip2-compressed");
  refused("PK\x03\x04", "a zip archive (or a spreadsheet, .xlsx)");
  refused("PAR1\x15", "a Parquet file, expected JSON lines; write it as JSONL");
  refused("ARROW1\0\0"sv, "an Arrow file");
  refused("\xff\xff\xff\xff\x10", "an Arrow stream");
  refused("SQLite format 3\0"sv, "an SQLite database");
  refused("\xff\xfe{\0"sv, "UTF-16 text");
  expect_error("PARIS", ErrorKind::corrupt_input, "not valid JSON");
}

TEST_F(DatasetFile, AnotherTextFieldIsHonoured) {
  const std::string file = folder_.write("body.jsonl", "{\"body\":\"a\",\"text\":\"zz\"}\n");
  EXPECT_EQ(load_dataset({{file}, "body", {}}, encoder_).examples[0].ids[1], 10);
}

TEST_F(DatasetFile, TheFingerprintSeesEachIdAndLabel) {
  const std::string first = load("{\"input_ids\":[1,2,3]}").fingerprint();
  EXPECT_EQ(load("{\"input_ids\":[1,2,3]}\n\n").fingerprint(), first);
  EXPECT_NE(load("{\"input_ids\":[1,2,4]}").fingerprint(), first);
  EXPECT_NE(load("{\"input_ids\":[1,2,3],\"labels\":[1,2,-100]}").fingerprint(), first);
  EXPECT_EQ(first.size(), 16u);
}

}  // namespace
}  // namespace lemnos::data
