#include <algorithm>

#include "base/plural.h"
#include "data/dataset.h"

namespace lemnos::data {
namespace {

constexpr DropReason kDropReasons[] = {DropReason::too_short, DropReason::all_ignored,
                                       DropReason::cut_by_max_length};

const char* name_of(DropReason reason) {
  switch (reason) {
    case DropReason::too_short:
      return "too_short";
    case DropReason::all_ignored:
      return "all_ignored";
    case DropReason::cut_by_max_length:
      break;
  }
  return "cut_by_max_length";
}

const char* explain(DropReason reason) {
  switch (reason) {
    case DropReason::too_short:
      return "fewer than two tokens";
    case DropReason::all_ignored:
      return "no label is a target after the shift by one";
    case DropReason::cut_by_max_length:
      break;
  }
  return "max_length cuts off all targets; raise it to train on them";
}

std::vector<RowPlace> places_dropped_for(const DataReport& report, DropReason reason) {
  std::vector<RowPlace> places;
  for (const DroppedRow& row : report.dropped)
    if (row.reason == reason) places.push_back(row.place);
  return places;
}

std::string first_places(const DataReport& report, const std::vector<RowPlace>& places) {
  constexpr size_t kListed = 10;
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), kListed); ++i)
    text += (i == 0 ? "" : ", ") + place_text(report, places[i]);
  return places.size() > kListed ? text + ", ..." : text;
}

Json places_json(const DataReport& report, const std::vector<RowPlace>& places) {
  Json list = Json::array();
  for (const RowPlace& place : places) list.push_back(place_text(report, place));
  return list;
}

std::string totals(const DataReport& report) {
  const int64_t kept = report.rows - static_cast<int64_t>(report.dropped.size());
  return format("data: {} of {} kept, {}, {} of them targets, longest row {}", kept,
                counted(report.rows, "row"), counted(report.tokens, "token"), report.supervised_tokens, report.longest);
}

}  // namespace

std::string place_text(const DataReport& report, RowPlace place) {
  return format("{}:{}", report.files[static_cast<size_t>(place.file)], place.line);
}

std::vector<std::string> describe(const DataReport& report) {
  std::vector<std::string> lines = {totals(report)};
  for (DropReason reason : kDropReasons)
    if (const auto places = places_dropped_for(report, reason); !places.empty())
      lines.push_back(format("{} dropped: {} ({})", counted(static_cast<int64_t>(places.size()), "row"), explain(reason),
                             first_places(report, places)));
  if (report.truncated_rows > 0)
    lines.push_back(format("{} cut at max_length, {} lost", counted(report.truncated_rows, "row"),
                           counted(report.truncated_tokens, "token")));
  if (!report.boundary_merged.empty())
    lines.push_back(format(
        "{} with a token that merges prompt and completion; the model is trained on a context "
        "it does not see when it generates; end the prompt on a token boundary ({})",
        counted(static_cast<int64_t>(report.boundary_merged.size()), "row"), first_places(report, report.boundary_merged)));
  if (report.repeated_bos_removed > 0)
    lines.push_back(
        format("a BOS written in the text was removed {}, as the tokenizer adds one",
               counted(report.repeated_bos_removed, "time")));
  if (report.rows_without_eos > 0)
    lines.push_back(format("the tokenizer names no EOS token: none is appended to {}",
                           counted(report.rows_without_eos, "row")));
  if (!report.ignored_columns.empty()) {
    std::string names;
    for (const std::string& column : report.ignored_columns)
      names += (names.empty() ? "" : ", ") + column;
    lines.push_back("columns that are not read: " + names);
  }
  return lines;
}

Json to_json(const DataReport& report) {
  Json files = Json::array();
  for (const std::string& file : report.files) files.push_back(file);
  Json dropped = Json::object();
  for (DropReason reason : kDropReasons)
    dropped.set(name_of(reason), places_json(report, places_dropped_for(report, reason)));
  Json ignored = Json::array();
  for (const std::string& column : report.ignored_columns) ignored.push_back(column);
  return Json::Object{{"files", files},
                      {"rows", report.rows},
                      {"rows_kept", report.rows - static_cast<int64_t>(report.dropped.size())},
                      {"blank_lines", report.blank_lines},
                      {"tokens", report.tokens},
                      {"supervised_tokens", report.supervised_tokens},
                      {"longest", report.longest},
                      {"truncated_rows", report.truncated_rows},
                      {"truncated_tokens", report.truncated_tokens},
                      {"repeated_bos_removed", report.repeated_bos_removed},
                      {"rows_without_eos", report.rows_without_eos},
                      {"dropped", dropped},
                      {"boundary_merged", places_json(report, report.boundary_merged)},
                      {"columns_not_read", ignored}};
}

}  // namespace lemnos::data
