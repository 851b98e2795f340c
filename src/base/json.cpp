#include "base/json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "base/error.h"

namespace lemnos {
namespace {

using Sax = nlohmann::json_sax<nlohmann::json>;

/// Python's json writes these bare and nlohmann refuses them, so they pass through as strings that
/// no file holds.
struct PythonConstant {
  std::string_view text;
  double number;
};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr PythonConstant kPythonConstants[] = {
    {"Infinity", kInfinity}, {"-Infinity", -kInfinity}, {"NaN", std::numeric_limits<double>::quiet_NaN()}};
std::string stand_in(std::string_view text) { return '\x01' + std::string(text); }
constexpr std::string_view kStandInStart = "\"\\u0001";

/// "line 3, column 5" of the last of `read` bytes, as the user's file has them.
std::string place_in(std::string_view text, size_t read) {
  const std::string_view before = text.substr(0, read > 0 ? read - 1 : 0);
  const size_t newline = before.rfind('\n');
  const std::string_view in_line = newline == std::string_view::npos ? before : before.substr(newline + 1);
  size_t column = in_line.size() + 1;
  for (size_t at = 0; (at = in_line.find(kStandInStart, at)) != std::string_view::npos; ++at)
    column -= kStandInStart.size() + 1;
  const std::string place = format("column {}", column);
  if (text.find('\n') == std::string_view::npos) return place;
  return format("line {}, {}", std::count(before.begin(), before.end(), '\n') + 1, place);
}

/// The library's sentence without its own names and places, and not longer than a line.
std::string what_is_wrong(std::string_view text) {
  constexpr size_t kLongest = 160;
  for (const std::string_view lead : {"] ", " while parsing ", " - "})
    if (const size_t at = text.find(lead); at != std::string_view::npos) text.remove_prefix(at + lead.size());
  if (text.size() <= kLongest) return std::string(text);
  return std::string(text.substr(0, kLongest)) + "...";
}

[[noreturn]] void refuse_json(std::string_view source, const std::string& what) {
  fail(ErrorKind::corrupt_input, "{}{}{}", source, source.empty() ? "" : ": ", what);
}

/// Builds our value and refuses what nlohmann's DOM would silently drop (duplicate keys).
class Reader : public Sax {
 public:
  /// `text` is what is parsed; errors give places in it.
  Reader(std::string_view text, std::string_view source) : text_(text), source_(source) {}
  Json result;

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return add(Json(static_cast<double>(value)));
    return add(Json(static_cast<int64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override {
    for (const auto& [text, number] : kPythonConstants)
      if (value == stand_in(text)) return add(Json(number));
    return add(Json(std::move(value)));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(true); }
  bool key(string_t& value) override {
    if (!open_.back().keys.insert(value).second)
      refuse(format("the key \"{}\" appears twice in one object", value));
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    refuse(format("not valid JSON at {}: {}", place_in(text_, position), what_is_wrong(error.what())));
  }

 private:
  struct Open {
    bool is_object;
    Json::Object object;
    Json::Array array;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  [[noreturn]] void refuse(const std::string& what) const { refuse_json(source_, what); }
  bool add(Json value) {
    if (open_.empty()) {
      result = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().object.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().array.push_back(std::move(value));
    }
    return true;
  }
  bool open(bool is_object) {
    constexpr size_t kDeepest = 200;
    if (open_.size() >= kDeepest)
      refuse(format("JSON nested deeper than {} levels", kDeepest));
    open_.push_back({is_object, {}, {}, {}, {}});
    return true;
  }
  bool close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    return add(done.is_object ? Json(std::move(done.object)) : Json(std::move(done.array)));
  }

  std::string_view text_, source_;
  std::vector<Open> open_;
};

/// Replaces the constants by their stand-in strings, outside of strings only.
std::string without_python_constants(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    const PythonConstant* found = nullptr;
    for (const PythonConstant& constant : kPythonConstants)
      if (!in_string && text.substr(i, constant.text.size()) == constant.text) found = &constant;
    if (found == nullptr) {
      out += c;
      continue;
    }
    out += std::string(kStandInStart) + std::string(found->text) + '"';
    i += found->text.size() - 1;
  }
  return out;
}

using Library = nlohmann::ordered_json;

Library to_library(const Json& value) {
  if (value.is_bool()) return value.as_bool();
  if (value.is_integer()) return value.as_integer();
  if (value.is_number()) return value.as_number();
  if (value.is_string()) return value.as_string();
  if (value.is_array()) {
    auto out = Library::array();
    for (const Json& item : value.as_array()) out.push_back(to_library(item));
    return out;
  }
  if (value.is_object()) {
    auto out = Library::object();
    for (const auto& [key, item] : value.as_object()) out.push_back({key, to_library(item)});
    return out;
  }
  return nullptr;
}

template <typename T, typename V>
const T& get(const V& value, const char* wanted, const char* found) {
  if (const T* held = std::get_if<T>(&value)) return *held;
  fail(ErrorKind::corrupt_input, "expected {} in JSON, found {}", wanted, found);
}

}  // namespace

const char* Json::type_name() const {
  static const char* const names[] = {"null", "a boolean", "an integer", "a real number",
                                      "a string", "an array", "an object"};
  return names[value_.index()];
}

bool Json::as_bool() const { return get<bool>(value_, "a boolean", type_name()); }
int64_t Json::as_integer() const { return get<int64_t>(value_, "an integer", type_name()); }
double Json::as_number() const {
  if (is_integer()) return static_cast<double>(as_integer());
  return get<double>(value_, "a number", type_name());
}
const std::string& Json::as_string() const& { return get<std::string>(value_, "a string", type_name()); }
const Json::Array& Json::as_array() const& { return get<Array>(value_, "an array", type_name()); }
const Json::Object& Json::as_object() const& { return get<Object>(value_, "an object", type_name()); }

std::string Json::as_string() && { return std::as_const(*this).as_string(); }
Json::Array Json::as_array() && { return std::as_const(*this).as_array(); }
Json::Object Json::as_object() && { return std::as_const(*this).as_object(); }

const Json* Json::find(std::string_view key) const& {
  if (const Object* object = std::get_if<Object>(&value_))
    for (const auto& [name, value] : *object)
      if (name == key) return &value;
  return nullptr;
}

const Json& Json::at(std::string_view key) const& {
  if (const Json* found = find(key)) return *found;
  fail(ErrorKind::corrupt_input, "the JSON key \"{}\" is missing", key);
}
Json Json::at(std::string_view key) && { return std::as_const(*this).at(key); }

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  Object& object = std::get<Object>(value_);
  for (auto& [name, old] : object)
    if (name == key) return old = std::move(value);
  return object.emplace_back(std::string(key), std::move(value)).second;
}

void Json::erase(std::string_view key) {
  if (Object* object = std::get_if<Object>(&value_))
    std::erase_if(*object, [&](const auto& item) { return item.first == key; });
}

void Json::push_back(Json value) {
  if (is_null()) value_ = Array{};
  std::get<Array>(value_).push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  return to_library(*this).dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json Json::parse(std::string_view text, std::string_view source) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    refuse_json(source, "empty, expected JSON");
  const bool python = text.find("Infinity") != std::string_view::npos ||
                      text.find("NaN") != std::string_view::npos;
  const std::string rewritten = python ? without_python_constants(text) : std::string();
  Reader reader(python ? std::string_view(rewritten) : text, source);
  nlohmann::json::sax_parse(python ? std::string_view(rewritten) : text, &reader);
  return std::move(reader.result);
}

}  // namespace lemnos
