#include "text/component.h"

#include "base/error.h"
#include "text/utf8.h"

namespace lemnos {

Pattern read_pattern(const Json& json) {
  if (const Json* text = json.find("String")) return Pattern::literal(text->as_string());
  if (const Json* regex = json.find("Regex")) return Pattern::regex(regex->as_string());
  fail(ErrorKind::corrupt_input,
       "a pattern must hold \"String\" or \"Regex\", found {}", json.dump());
}

bool bool_or(const Json& json, std::string_view key, bool fallback) {
  const Json* value = json.find(key);
  return value == nullptr || value->is_null() ? fallback : value->as_bool();
}

std::string read_character(const Json& json, std::string_view key) {
  const std::string& text = json.at(key).as_string();
  if (text.empty() || utf8_at(text, 0).size != text.size())
    fail(ErrorKind::corrupt_input, "{} must be one character, found \"{}\"", key,
         text);
  return text;
}

PrependScheme read_prepend_scheme(const Json& json) {
  const bool add_prefix_space = bool_or(json, "add_prefix_space", true);
  const Json* scheme = json.find("prepend_scheme");
  if (scheme == nullptr) return add_prefix_space ? PrependScheme::always : PrependScheme::never;
  const std::string& name = scheme->as_string();
  if (name == "first") return PrependScheme::first;
  if (name == "always") return PrependScheme::always;
  if (name == "never") return PrependScheme::never;
  fail(ErrorKind::unsupported, "Metaspace prepend_scheme \"{}\" is not supported",
       name);
}

}  // namespace lemnos
