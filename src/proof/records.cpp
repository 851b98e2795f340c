#include "proof/records.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/json.h"
#include "io/hf_config.h"

namespace lemnos::proof {
namespace {

constexpr int64_t kFormat = 1;

std::vector<std::string> sorted_names(ConfigReader& reader, std::string_view key) {
  std::vector<std::string> names = reader.get_strings(key);
  std::sort(names.begin(), names.end());
  return names;
}

/// A figure that is not finite comes as null.
std::optional<double> figure(ConfigReader& reader, std::string_view key) {
  const auto value = reader.find_double(key);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Records read_all() {
  Records records;
  for (const RecordText& text : record_texts()) {
    try {
      records.all.push_back(read_record(text.text, text.file, source_table()));
    } catch (const Error& error) {
      records.problems.emplace_back(error.what());
    }
  }
  return records;
}

}  // namespace

Record read_record(std::string_view text, const std::string& file, const std::vector<SourceFile>& table) {
  ConfigReader reader(Json::parse(text, file), file);
  if (reader.get_int("format") != kFormat)
    reader.fail_field("format", "1");
  Record record{.file = file};
  record.surface = reader.get_string("surface");
  record.family = reader.get_string("family");
  record.stage = reader.get_string("stage");
  record.device = reader.get_string("device");
  record.device_name = reader.get_string("device_name");
  record.driver = reader.get_string("driver");
  record.features = sorted_names(reader, "features");
  record.ops = sorted_names(reader, "ops");
  record.sources = reader.get_string("sources");
  record.green = reader.get_bool("green");
  record.worst = figure(reader, "worst");
  record.oracle_noise = figure(reader, "oracle_noise");
  record.current = fingerprint(table, {record.family, record.stage, record.ops}) == record.sources;
  return record;
}

const Records& embedded_records() {
  static const Records records = read_all();
  return records;
}

}  // namespace lemnos::proof
