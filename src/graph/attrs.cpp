#include "graph/attrs.h"

#include <algorithm>

#include "base/error.h"

namespace lemnos {
namespace {

struct Printer {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const std::vector<int64_t>& v) const {
    std::string text = "[";
    for (size_t i = 0; i < v.size(); ++i) text += (i ? "," : "") + std::to_string(v[i]);
    return text + "]";
  }
};

template <typename T>
const T& held(const AttrValue& value, std::string_view name) {
  const T* found = std::get_if<T>(&value);
  LEMNOS_CHECK(found != nullptr, "attribute {} has another type", name);
  return *found;
}

}  // namespace

const AttrValue& Attrs::get(std::string_view name) const {
  for (const auto& [key, value] : items_)
    if (key == name) return value;
  LEMNOS_CHECK(false, "no attribute {}", name);
  return items_.front().second;
}

bool Attrs::has(std::string_view name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& item) { return item.first == name; });
}

Attrs Attrs::with(std::string name, AttrValue value) const {
  Attrs made = *this;
  made.items_.emplace_back(std::move(name), std::move(value));
  return made;
}

bool Attrs::get_bool(std::string_view name) const { return held<bool>(get(name), name); }
int64_t Attrs::get_int(std::string_view name) const { return held<int64_t>(get(name), name); }
double Attrs::get_double(std::string_view name) const { return held<double>(get(name), name); }
const std::string& Attrs::get_string(std::string_view name) const {
  return held<std::string>(get(name), name);
}
const std::vector<int64_t>& Attrs::get_ints(std::string_view name) const {
  return held<std::vector<int64_t>>(get(name), name);
}

std::string to_string(const Attrs& attrs) {
  std::string text;
  for (const auto& [key, value] : attrs.items())
    text += (text.empty() ? "" : " ") + key + "=" + std::visit(Printer{}, value);
  return text;
}

}  // namespace lemnos
