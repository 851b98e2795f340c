#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace lemnos {

/// Reads a `config.json` (or an object inside it) field by field and remembers which fields were
/// asked for, so that a field nobody understood can be refused by name. A field that is null counts
/// as absent. Every error names file, field, what was found and what was expected. A number that is not
/// finite, which Python writes and JSON does not have, is refused wherever it stands.
class ConfigReader {
 public:
  static ConfigReader open(const std::filesystem::path& file);
  /// `source` names the object in errors. Error{corrupt_input} unless `object` is one of finite numbers.
  ConfigReader(Json object, std::string source);

  /// Required: Error{corrupt_input} when absent or of another type. Integers are taken as reals,
  /// never the other way round.
  int64_t get_int(std::string_view key);
  double get_double(std::string_view key);
  bool get_bool(std::string_view key);
  std::string get_string(std::string_view key);
  std::vector<int64_t> get_ints(std::string_view key);
  std::vector<double> get_doubles(std::string_view key);
  std::vector<std::string> get_strings(std::string_view key);

  /// Optional: nothing when absent.
  std::optional<int64_t> find_int(std::string_view key);
  std::optional<double> find_double(std::string_view key);
  std::optional<bool> find_bool(std::string_view key);
  std::optional<std::string> find_string(std::string_view key);
  std::optional<std::vector<int64_t>> find_ints(std::string_view key);
  std::optional<std::vector<double>> find_doubles(std::string_view key);
  std::optional<std::vector<std::string>> find_strings(std::string_view key);
  /// A field that may be one id or a list of them, as eos_token_id is. Empty when absent.
  std::vector<int64_t> find_int_or_ints(std::string_view key);

  int64_t get_int_or(std::string_view key, int64_t fallback) {
    return find_int(key).value_or(fallback);
  }
  double get_double_or(std::string_view key, double fallback) {
    return find_double(key).value_or(fallback);
  }
  bool get_bool_or(std::string_view key, bool fallback) {
    return find_bool(key).value_or(fallback);
  }
  std::string get_string_or(std::string_view key, std::string_view fallback) {
    return find_string(key).value_or(std::string(fallback));
  }

  /// An object inside this one; the caller refuses its unknown fields.
  ConfigReader get_section(std::string_view key);
  std::optional<ConfigReader> find_section(std::string_view key);

  /// The value, marked as read; null when absent or null.
  const Json* find(std::string_view key);
  /// Without marking it as read.
  bool has(std::string_view key) const;

  /// Marks the field as read; Error{unsupported} when it is there with a value that is not
  /// `supported`.
  void expect(std::string_view key, const Json& supported);
  /// For a field that is known to have no effect here.
  void ignore(std::string_view key) { read_.emplace(key); }

  /// Call after everything was read. Fields that were not read and are not known to be without
  /// effect on a decoder's maths are Error{unsupported}, all in one message; those that are null,
  /// false or empty (or dropouts of 0) are passed over with a note.
  void refuse_unknown();

  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// One sentence each, for the user.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& source() const { return source_; }
  const Json& json() const& { return object_; }
  Json json() && { return std::move(object_); }

  /// `fail_field` naming the range unless low <= value <= high.
  void check_range(std::string_view key, double value, double low, double high) const;
  void check_range(std::string_view key, int64_t value, int64_t low, int64_t high) const;
  /// Error{corrupt_input}: "<source>: \"<key>\" is <found>, expected <expected>".
  [[noreturn]] void fail_field(std::string_view key, std::string_view expected) const;

 private:
  template <typename T, typename Convert>
  std::optional<T> find_as(std::string_view key, Convert convert, std::string_view expected);
  template <typename T, typename Convert>
  std::optional<std::vector<T>> find_list(std::string_view key, Convert convert,
                                          std::string_view expected);
  template <typename T>
  T require(std::string_view key, std::optional<T> found);

  Json object_;
  std::string source_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::string> notes_;
};

}  // namespace lemnos
