#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "train/train_config_values.h"

namespace lemnos::train {
namespace {

std::string place_of(std::string_view source, const YAML::Mark& mark) {
  return mark.is_null() ? std::string(source) : format("{}:{}", source, mark.line + 1);
}

/// The parser's terse sentences for the mistakes people make, in other words.
std::string_view what_is_wrong(const std::string& message) {
  constexpr std::pair<std::string_view, std::string_view> kSaid[] = {
      {"illegal map value", "a colon where none can stand; quote a value that holds \": \", or check the indentation"},
      {"end of sequence flow not found", "a \"[\" has no \"]\""},
      {"end of map flow not found", "a \"{\" has no \"}\""},
      {"illegal tab when looking for indentation", "a tab before a key; indent with spaces"}};
  for (const auto& [text, meaning] : kSaid)
    if (message == text) return meaning;
  return message;
}

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

/// Python's None is a string to YAML and never meant as one.
bool means_null(const YAML::Node& node) {
  return node.IsNull() || (node.IsScalar() && node.Scalar() == "None" && !is_quoted(node));
}

RawValue value_of(const YAML::Node& node) {
  if (!node.IsDefined() || means_null(node)) return {};
  if (node.IsScalar()) return {RawValue::Kind::scalar, node.Scalar(), {}, false};
  RawValue value{RawValue::Kind::other, node.IsMap() ? "{...}" : "[...]", {}, node.size() == 0};
  if (node.IsMap()) return value;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return value;
    value.items.push_back(item.Scalar());
  }
  value.kind = RawValue::Kind::list;
  value.text.clear();
  for (const std::string& item : value.items) value.text += (value.text.empty() ? "" : ", ") + item;
  value.text = "[" + value.text + "]";
  return value;
}

YAML::Node load_only_document(const std::string& yaml, std::string_view source) {
  const std::vector<YAML::Node> documents = YAML::LoadAll(yaml);
  if (documents.empty()) return {};
  if (documents.size() > 1)
    fail(ErrorKind::usage, "{}: holds {} YAML documents, expected one", source, documents.size());
  return documents.front();
}

std::vector<Setting> settings_of(const YAML::Node& root, std::string_view source) {
  if (!root.IsDefined() || root.IsNull()) return {};
  if (!root.IsMap())
    fail(ErrorKind::usage, "{}: expected lines of the form \"key: value\"",
         place_of(source, root.Mark()));
  std::vector<Setting> settings;
  for (const auto& entry : root) {
    const std::string place = place_of(source, entry.first.Mark());
    if (!entry.first.IsScalar()) fail(ErrorKind::usage, "{}: a key must be a name", place);
    settings.push_back(
        {entry.first.Scalar(), value_of(entry.second), {SettingSource::file, place}});
  }
  return settings;
}

}  // namespace

std::vector<Setting> read_yaml_settings(std::string_view yaml, std::string_view source) {
  if (yaml.find('\0') != std::string_view::npos) fail(ErrorKind::usage, "{} is not a text file; expected YAML", source);
  try {
    return settings_of(load_only_document(std::string(yaml), source), source);
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) fail(ErrorKind::usage, "{}: not valid YAML: {}", source, what_is_wrong(error.msg));
    fail(ErrorKind::usage, "{}: not valid YAML at column {}: {}", place_of(source, error.mark), error.mark.column + 1,
         what_is_wrong(error.msg));
  }
}

}  // namespace lemnos::train
