#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/encoder.h"
#include "data/example.h"

namespace lemnos::data {

struct DatasetOptions {
  /// JSONL files, or folders of *.jsonl; read in this order.
  std::vector<std::string> files;
  std::string text_field = "text";
  ExampleOptions example;
};

/// A row's place: index into DataReport::files, and line from 1.
struct RowPlace {
  int32_t file = 0;
  int64_t line = 0;
};

enum class DropReason {
  too_short,         ///< fewer than two tokens: nothing to predict
  all_ignored,       ///< no label counts after the shift by one
  cut_by_max_length  ///< it had targets, all of them beyond max_length
};

struct DroppedRow {
  RowPlace place;
  DropReason reason;
};

/// What was read and what became of it; nothing is dropped or changed without standing here.
struct DataReport {
  std::vector<std::string> files;
  int64_t rows = 0;
  int64_t blank_lines = 0;
  int64_t tokens = 0;
  int64_t supervised_tokens = 0;
  int64_t longest = 0;
  int64_t truncated_rows = 0;
  int64_t truncated_tokens = 0;
  int64_t repeated_bos_removed = 0;
  int64_t rows_without_eos = 0;
  std::vector<DroppedRow> dropped;
  std::vector<RowPlace> boundary_merged;
  std::set<std::string> ignored_columns;
};

struct Dataset {
  std::vector<Example> examples;
  DataReport report;

  /// 16 hexadecimal digits over all ids and labels in order: the same data, the same text.
  std::string fingerprint() const;
};

/// Reads all rows by the rules of example.h and drops those without a target. Rows that are wrong
/// are one Error{corrupt_input} which lists the first ten as file:line; so is a data set of which
/// no row is left. Chat and multimodal rows are Error{unsupported}.
Dataset load_dataset(const DatasetOptions& options, const Encoder& encoder);

/// "file.jsonl:12".
std::string place_text(const DataReport& report, RowPlace place);
/// Lines for the log: first the totals, then one for each thing a user should know.
std::vector<std::string> describe(const DataReport& report);
/// For applied.json: all counts, and the lines of dropped and merged rows.
Json to_json(const DataReport& report);

}  // namespace lemnos::data
