#include "base/error.h"
#include "train/train_config_options.h"

namespace lemnos::train {
namespace {

const char* name_of(SettingSource source) {
  switch (source) {
    case SettingSource::file:
      return "file";
    case SettingSource::flag:
      return "flag";
    case SettingSource::implied:
      break;
  }
  return "implied";
}

Json option_json(const TrainConfig& config, const Option& option) {
  Json json = Json::Object{{"value", value_of(config, option)}};
  const auto given = config.given.find(option.key);
  if (given == config.given.end()) {
    json.set("source", "default");
    return json;
  }
  json.set("source", name_of(given->second.source));
  json.set("place", given->second.place);
  return json;
}

std::string aliases_text(const Option& option) {
  std::string text;
  for (const Option& other : applied_options())
    if (other.alias_of == option.key) text += format(", or `{}`", other.key);
  return text;
}

/// A vertical bar would end the table's cell.
std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// "a number, at least 0"
std::string values_text(const Option& option) {
  const std::string range = option.range.text();
  return type_text(option) + (range.empty() ? "" : ", " + range);
}

std::string without_backticks(std::string_view text) {
  std::string out(text);
  std::erase(out, '`');
  return out;
}

std::string heading(std::string_view group, const char* columns, const char* line) {
  return format("\n### {}\n\n{}\n{}\n", group, columns, line);
}

std::string applied_section() {
  const TrainConfig defaults;
  std::string out = "\n## Applied\n";
  std::string_view group;
  for (const Option& option : applied_options()) {
    if (!option.alias_of.empty()) continue;
    if (option.group != group)
      out +=
          heading(option.group, "| key | type | default | meaning |", "| --- | --- | --- | --- |");
    group = option.group;
    out += format("| `{}`{} | {} | `{}` | {} |\n", option.key, aliases_text(option),
                  cell(values_text(option)),
                  value_of(defaults, option).dump(), cell(option.text));
  }
  return out;
}

std::string noted_section() {
  std::string out =
      "\n## Without effect\n\nKnown keys that are accepted with any value; the log names each with "
      "its reason.\n";
  std::string_view group;
  for (const Option& option : noted_options()) {
    if (option.group != group) out += heading(option.group, "| key | reason |", "| --- | --- |");
    group = option.group;
    out += format("| `{}` | {} |\n", option.key, cell(option.text));
  }
  return out;
}

std::string refused_section() {
  std::string out =
      "\n## Refused\n\nKnown keys that would change what is learned, or that ask for something "
      "which "
      "is not done. Null, an empty\nlist and the values in the second column are accepted; any "
      "other stops the run before it touches a file.\n";
  std::string_view group;
  for (const Option& option : refused_options()) {
    if (option.group != group)
      out += heading(option.group, "| key | accepted | reason |", "| --- | --- | --- |");
    group = option.group;
    std::string accepted(option.harmless);
    for (size_t at = 0; (at = accepted.find(' ', at)) != std::string::npos; at += 4)
      accepted.replace(at, 1, "`, `");
    out += format("| `{}` | {} | {} |\n", option.key, accepted.empty() ? "" : "`" + accepted + "`",
                  cell(option.text));
  }
  return out;
}

}  // namespace

Json to_json(const TrainConfig& config) {
  Json options = Json::object();
  for (const Option& option : applied_options())
    if (option.alias_of.empty()) options.set(option.key, option_json(config, option));
  Json without_effect = Json::array();
  for (const WithoutEffect& item : config.without_effect)
    without_effect.push_back(
        Json::Object{{"key", item.key}, {"value", item.value}, {"reason", item.reason}});
  return Json::Object{{"options", options}, {"without_effect", without_effect}};
}

std::string options_help() {
  const TrainConfig defaults;
  std::string out = "Training options, also keys of the YAML file (learning_rate: 2e-4):\n";
  std::string_view group;
  for (const Option& option : applied_options()) {
    if (!option.alias_of.empty()) continue;
    if (option.group != group) out += format("\n{}:\n", option.group);
    group = option.group;
    out += format("  {} ({}; default: {})\n      {}\n", flag_name(option.key), values_text(option),
                  value_of(defaults, option).dump(), without_backticks(option.text));
  }
  return out + "\nOther keys of TRL, Transformers and PEFT are known too: docs/options.md says which have no effect here "
               "and which are refused.";
}

std::string options_markdown() {
  return "# Options of `lemnos train` and `lemnos plan`\n\n"
         "Made from the option table in `src/train/` (`LEMNOS_UPDATE_DOCS=1 train_tests` writes "
         "it); do not edit.\n\n"
         "Each key can stand in the YAML file (`learning_rate: 2e-4`) or on the command line "
         "(`--learning-rate 2e-4`);\nthe command line wins. Names and meanings are those of TRL's "
         "`SFTConfig` and `ModelConfig`, Transformers'\n`TrainingArguments` and PEFT's "
         "`LoraConfig`. A key that is not listed here is an error; on the command line `_` and `-` are the same.\n\n"
         "A list on the command line is words, as TRL's parser takes them, or words with commas, in brackets or not:\n"
         "`--lora-target-modules q_proj v_proj`, `q_proj,v_proj` and `\"[q_proj, v_proj]\"` say the same. Only a list in\n"
         "the YAML file can hold a name with a comma in it.\n" +
         applied_section() + noted_section() + refused_section();
}

}  // namespace lemnos::train
