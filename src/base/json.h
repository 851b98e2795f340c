#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lemnos {

/// A JSON value that keeps the order of object keys and tells integers from reals, as config.json
/// needs. Parsing and printing are nlohmann-json's, inside json.cpp only.
class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(int64_t{value}) {}
  Json(int64_t value) : value_(value) {}
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// Each throws Error{corrupt_input} naming the JSON type found when the value is of another type.
  bool as_bool() const;
  int64_t as_integer() const;
  double as_number() const;
  /// Of a temporary: the value itself, so that a loop over it does not outlive it.
  const std::string& as_string() const&;
  const Array& as_array() const&;
  const Object& as_object() const&;
  std::string as_string() &&;
  Array as_array() &&;
  Object as_object() &&;

  /// Object access: null when the key is absent.
  const Json* find(std::string_view key) const&;
  const Json* find(std::string_view key) && = delete;
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// Throws Error{corrupt_input} naming the key when absent.
  const Json& at(std::string_view key) const&;
  Json at(std::string_view key) &&;
  /// Adds or replaces; makes an object of a null value.
  Json& set(std::string_view key, Json value);
  void erase(std::string_view key);
  /// Appends; makes an array of a null value.
  void push_back(Json value);

  bool operator==(const Json&) const = default;

  /// `indent` < 0: one line. Reals print with the digits needed to read the same double back.
  std::string dump(int indent = -1) const;
  /// Throws Error{corrupt_input} with `source` (a file name), line and column (the column alone for a
  /// text of one line); an empty `source` is left out. Refuses duplicate keys, bad UTF-8 and trailing text. NaN, Infinity and
  /// -Infinity are read as Python writes them.
  static Json parse(std::string_view text, std::string_view source);

  const char* type_name() const;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace lemnos
