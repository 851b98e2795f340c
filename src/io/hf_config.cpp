#include "io/hf_config.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "io/file.h"
#include "io/harmless_fields.h"

namespace lemnos {
namespace {

constexpr std::string_view kInteger = "an integer";
constexpr std::string_view kNumber = "a number";
constexpr std::string_view kString = "a string";

std::optional<int64_t> to_int(const Json& value) {
  return value.is_integer() ? std::optional(value.as_integer()) : std::nullopt;
}
std::optional<double> to_double(const Json& value) {
  return value.is_number() ? std::optional(value.as_number()) : std::nullopt;
}
std::optional<bool> to_bool(const Json& value) {
  return value.is_bool() ? std::optional(value.as_bool()) : std::nullopt;
}
std::optional<std::string> to_text(const Json& value) {
  return value.is_string() ? std::optional(value.as_string()) : std::nullopt;
}

std::string shortened(const Json& value) {
  constexpr size_t kLongest = 80;
  const std::string text = value.dump();
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

void refuse_non_finite(const Json& value, const std::string& source, const std::string& name) {
  if (value.is_object())
    for (const auto& [key, inside] : value.as_object())
      refuse_non_finite(inside, source, name + (name.empty() ? "" : ".") + key);
  if (value.is_array())
    for (size_t i = 0; i < value.as_array().size(); ++i)
      refuse_non_finite(value.as_array()[i], source, format("{}[{}]", name, i));
  if (!value.is_number() || std::isfinite(value.as_number())) return;
  const double number = value.as_number();
  fail(ErrorKind::corrupt_input, "{}: \"{}\" is {}, which is no number of JSON; expected a finite number", source, name,
       std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
}

}  // namespace

ConfigReader ConfigReader::open(const std::filesystem::path& file) {
  return ConfigReader(Json::parse(read_file(file), file.string()), file.string());
}

ConfigReader::ConfigReader(Json object, std::string source)
    : object_(std::move(object)), source_(std::move(source)) {
  if (!object_.is_object())
    fail(ErrorKind::corrupt_input, "{}: expected a JSON object, found {}", source_,
         object_.type_name());
  refuse_non_finite(object_, source_, "");
}

const Json* ConfigReader::find(std::string_view key) {
  read_.emplace(key);
  const Json* value = object_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool ConfigReader::has(std::string_view key) const {
  const Json* value = object_.find(key);
  return value != nullptr && !value->is_null();
}

void ConfigReader::fail_field(std::string_view key, std::string_view expected) const {
  const Json* value = object_.find(key);
  fail(ErrorKind::corrupt_input, "{}: \"{}\" is {}, expected {}", source_, key,
       value == nullptr ? std::string("missing") : shortened(*value), expected);
}

void ConfigReader::check_range(std::string_view key, double value, double low, double high) const {
  if (!(value >= low && value <= high)) fail_field(key, format("a number from {} to {}", low, high));
}

void ConfigReader::check_range(std::string_view key, int64_t value, int64_t low, int64_t high) const {
  if (value < low || value > high) fail_field(key, format("an integer from {} to {}", low, high));
}

template <typename T, typename Convert>
std::optional<T> ConfigReader::find_as(std::string_view key, Convert convert,
                                       std::string_view expected) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<T> converted = convert(*value);
  if (!converted) fail_field(key, expected);
  return converted;
}

template <typename T, typename Convert>
std::optional<std::vector<T>> ConfigReader::find_list(std::string_view key, Convert convert,
                                                      std::string_view expected) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) fail_field(key, format("a list, each entry {}", expected));
  std::vector<T> list;
  for (const Json& item : value->as_array()) {
    std::optional<T> converted = convert(item);
    if (!converted) fail_field(key, format("a list, each entry {}", expected));
    list.push_back(std::move(*converted));
  }
  return list;
}

template <typename T>
T ConfigReader::require(std::string_view key, std::optional<T> found) {
  if (!found) fail_field(key, "a value; this field is required");
  return std::move(*found);
}

std::optional<int64_t> ConfigReader::find_int(std::string_view key) {
  return find_as<int64_t>(key, to_int, kInteger);
}
std::optional<double> ConfigReader::find_double(std::string_view key) {
  return find_as<double>(key, to_double, kNumber);
}
std::optional<bool> ConfigReader::find_bool(std::string_view key) {
  return find_as<bool>(key, to_bool, "true or false");
}
std::optional<std::string> ConfigReader::find_string(std::string_view key) {
  return find_as<std::string>(key, to_text, kString);
}
std::optional<std::vector<int64_t>> ConfigReader::find_ints(std::string_view key) {
  return find_list<int64_t>(key, to_int, kInteger);
}
std::optional<std::vector<double>> ConfigReader::find_doubles(std::string_view key) {
  return find_list<double>(key, to_double, kNumber);
}
std::optional<std::vector<std::string>> ConfigReader::find_strings(std::string_view key) {
  return find_list<std::string>(key, to_text, kString);
}

std::vector<int64_t> ConfigReader::find_int_or_ints(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return {};
  if (value->is_array()) return *find_ints(key);
  return {*find_int(key)};
}

int64_t ConfigReader::get_int(std::string_view key) { return require(key, find_int(key)); }
double ConfigReader::get_double(std::string_view key) { return require(key, find_double(key)); }
bool ConfigReader::get_bool(std::string_view key) { return require(key, find_bool(key)); }
std::string ConfigReader::get_string(std::string_view key) {
  return require(key, find_string(key));
}
std::vector<int64_t> ConfigReader::get_ints(std::string_view key) {
  return require(key, find_ints(key));
}
std::vector<double> ConfigReader::get_doubles(std::string_view key) {
  return require(key, find_doubles(key));
}
std::vector<std::string> ConfigReader::get_strings(std::string_view key) {
  return require(key, find_strings(key));
}

std::optional<ConfigReader> ConfigReader::find_section(std::string_view key) {
  const Json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) fail_field(key, "an object");
  return ConfigReader(*value, format("{}: {}", source_, key));
}

ConfigReader ConfigReader::get_section(std::string_view key) {
  return require(key, find_section(key));
}

void ConfigReader::expect(std::string_view key, const Json& supported) {
  const Json* value = find(key);
  if (value == nullptr || *value == supported) return;
  const bool equal_numbers =
      value->is_number() && supported.is_number() && value->as_number() == supported.as_number();
  if (!equal_numbers)
    fail(ErrorKind::unsupported, "{}: \"{}\" is {}; only {} is supported", source_, key,
         shortened(*value), supported.dump());
}

void ConfigReader::refuse_unknown() {
  std::string refused;
  for (const auto& [key, value] : object_.as_object()) {
    if (read_.contains(key) || is_harmless_field(key, value)) continue;
    if (is_switched_off(key, value)) {
      note(format("{}: \"{}\" is not a field known here; being {}, it is ignored", source_, key,
                  value.dump()));
    } else {
      refused += format("{}\"{}\" = {}", refused.empty() ? "" : ", ", key, shortened(value));
    }
  }
  if (!refused.empty())
    fail(ErrorKind::unsupported,
         "{}: fields that are not supported here and may change what the model computes: {}",
         source_, refused);
}

}  // namespace lemnos
