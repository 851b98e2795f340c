#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lemnos {

using AttrValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>>;

/// A node's constants, by name: what the formula needs and no tensor carries (eps, scale, window).
/// Getters CHECK: an attribute that is absent or of another type is a bug of the op.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items) : items_(items) {}
  static Attrs of(std::vector<std::pair<std::string, AttrValue>> items) {
    Attrs made;
    made.items_ = std::move(items);
    return made;
  }

  bool has(std::string_view name) const;
  /// These and one more.
  Attrs with(std::string name, AttrValue value) const;
  bool get_bool(std::string_view name) const;
  int64_t get_int(std::string_view name) const;
  double get_double(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;

  const std::vector<std::pair<std::string, AttrValue>>& items() const { return items_; }
  bool operator==(const Attrs&) const = default;

 private:
  const AttrValue& get(std::string_view name) const;
  std::vector<std::pair<std::string, AttrValue>> items_;
};

std::string to_string(const Attrs& attrs);

}  // namespace lemnos
