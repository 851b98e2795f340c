#include "data/dataset.h"

#include <algorithm>

#include "base/error.h"
#include "data/jsonl.h"
#include "data/row.h"

namespace lemnos::data {
namespace {

/// Collects wrong rows so that one run shows many of them.
class BadRows {
 public:
  void add(const std::string& place, const char* message, bool is_object) {
    constexpr int64_t kListed = 10;
    any_object_ = any_object_ || is_object;
    if (++count_ <= kListed) listed_ += format("\n  {}: {}", place, message);
    if (count_ == kListed + 1) listed_ += "\n  ...";
  }
  void throw_if_any(int64_t rows) const {
    if (count_ == 0) return;
    const char* const advice = any_object_ || count_ < rows
                                   ? ""
                                   : "\nA data file holds one JSON object per line, such as {\"text\": \"...\"} or "
                                     "{\"prompt\": \"...\", \"completion\": \"...\"}.";
    fail(ErrorKind::corrupt_input, "{} of {} data rows cannot be used:{}{}", count_, rows, listed_, advice);
  }

 private:
  int64_t count_ = 0;
  bool any_object_ = false;
  std::string listed_;
};

class Loader {
 public:
  Loader(const DatasetOptions& options, const Encoder& encoder)
      : options_(options), maker_(encoder, options.example) {
    dataset_.report.files = expand_data_paths(options.files);
  }

  Dataset load() {
    DataReport& report = dataset_.report;
    for (size_t file = 0; file < report.files.size(); ++file)
      report.blank_lines +=
          for_each_json_line(report.files[file], [&](int64_t line, std::string_view text) {
            add_row({static_cast<int32_t>(file), line}, text);
          });
    bad_.throw_if_any(report.rows);
    refuse_if_nothing_left();
    return std::move(dataset_);
  }

 private:
  void add_row(RowPlace place, std::string_view text) {
    ++dataset_.report.rows;
    bool is_object = false;
    try {
      const Json json = Json::parse(text, "");
      is_object = json.is_object();
      const Row row = parse_row(json, options_.text_field, dataset_.report.ignored_columns);
      ExampleNotes notes;
      add_example(maker_.make(row, notes), notes, place);
    } catch (const Error& error) {
      const std::string where = place_text(dataset_.report, place);
      if (error.kind() != ErrorKind::corrupt_input)
        fail(error.kind(), "{}: {}", where, error.what());
      bad_.add(where, error.what(), is_object);
    }
  }

  void add_example(Example example, const ExampleNotes& notes, RowPlace place) {
    DataReport& report = dataset_.report;
    report.truncated_rows += notes.tokens_cut > 0;
    report.truncated_tokens += notes.tokens_cut;
    report.repeated_bos_removed += notes.repeated_bos_removed;
    report.rows_without_eos += notes.eos_unknown;
    if (notes.boundary_merged) report.boundary_merged.push_back(place);
    if (example.supervised == 0) {
      report.dropped.push_back({place, drop_reason(example, notes)});
      return;
    }
    const auto length = static_cast<int64_t>(example.ids.size());
    report.tokens += length;
    report.supervised_tokens += example.supervised;
    report.longest = std::max(report.longest, length);
    example.file = place.file;
    example.line = place.line;
    dataset_.examples.push_back(std::move(example));
  }

  static DropReason drop_reason(const Example& example, const ExampleNotes& notes) {
    if (notes.targets_cut > 0) return DropReason::cut_by_max_length;
    return example.ids.size() < 2 ? DropReason::too_short : DropReason::all_ignored;
  }

  void refuse_if_nothing_left() const {
    if (!dataset_.examples.empty()) return;
    const DataReport& report = dataset_.report;
    if (report.rows == 0)
      fail(ErrorKind::corrupt_input, "the data has no rows ({} file(s), first {})",
           report.files.size(), report.files.empty() ? "none" : report.files.front());
    std::string why;
    for (const std::string& line : describe(report)) why += "\n  " + line;
    fail(ErrorKind::corrupt_input, "no data row has a token to learn from:{}", why);
  }

  const DatasetOptions& options_;
  ExampleMaker maker_;
  Dataset dataset_;
  BadRows bad_;
};

/// FNV-1a over the little-endian bytes of 32-bit values.
class Fingerprint {
 public:
  void add(uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      hash_ = (hash_ ^ ((value >> shift) & 0xffu)) * 0x100000001b3u;
  }
  std::string text() const { return format("{:016x}", hash_); }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace

std::string Dataset::fingerprint() const {
  Fingerprint fingerprint;
  for (const Example& example : examples) {
    fingerprint.add(static_cast<uint32_t>(example.ids.size()));
    for (int32_t id : example.ids) fingerprint.add(static_cast<uint32_t>(id));
    for (int32_t label : example.labels) fingerprint.add(static_cast<uint32_t>(label));
  }
  return fingerprint.text();
}

Dataset load_dataset(const DatasetOptions& options, const Encoder& encoder) {
  if (options.files.empty()) fail(ErrorKind::usage, "no data file is given");
  return Loader(options, encoder).load();
}

}  // namespace lemnos::data
