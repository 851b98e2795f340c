#include "train/train_config.h"

#include "base/error.h"
#include "base/input_file.h"
#include "train/train_config_values.h"

namespace lemnos::train {
namespace {

/// The option that a key means; aliases lead to what they stand for.
const Option& option_for(const Setting& setting) {
  const Option* option = find_option(setting.key);
  if (option != nullptr && !option->alias_of.empty()) option = find_option(option->alias_of);
  if (option != nullptr) return *option;
  const bool flag = setting.place.source == SettingSource::flag;
  if (flag && setting.key.starts_with("no_") && find_option(setting.key.substr(3)) != nullptr)
    fail(ErrorKind::usage, "{} is not an option; write {} false", setting.place.place, flag_name(setting.key.substr(3)));
  const std::string_view nearest = nearest_key(setting.key);
  const std::string hint =
      nearest.empty()
          ? "docs/options.md lists all options"
          : format("did you mean {}?", flag ? flag_name(nearest) : std::string(nearest));
  if (flag) fail(ErrorKind::usage, "{} is not an option; {}", setting.place.place, hint);
  fail(ErrorKind::usage, "{}: {} is not an option; {}", setting.place.place, setting.key, hint);
}

/// The settings in force by canonical key: flags win over the file, within each no key comes twice.
class SettingsInForce {
 public:
  void add(Setting setting) {
    const Option& option = option_for(setting);
    Setting& held = settings_[&option];
    const bool first = held.key.empty();
    if (!first && held.place.place == setting.place.place)
      fail(ErrorKind::usage, "{} is given more than once", named(setting.place, setting.key));
    if (!first && held.place.source == setting.place.source)
      fail(ErrorKind::usage, "{} was given before, at {}", named(setting.place, setting.key), held.place.place);
    held = std::move(setting);
  }
  void apply_to(TrainConfig& config) const {
    for (const auto& [option, setting] : settings_) apply(config, *option, setting);
  }

 private:
  /// In the order of the keys, so that notes and errors do not depend on addresses.
  struct ByKey {
    bool operator()(const Option* a, const Option* b) const { return a->key < b->key; }
  };

  static void apply(TrainConfig& config, const Option& option, const Setting& setting) {
    const RawValue& value = setting.value;
    switch (option.option_class) {
      case OptionClass::applied:
        assign(config, option, setting);
        config.given[std::string(option.key)] = setting.place;
        return;
      case OptionClass::noted: {
        const std::string text = value.kind == RawValue::Kind::null ? "null" : value.text;
        config.without_effect.push_back({setting.key, text, std::string(option.text)});
        config.notes.push_back(
            format("{}: {} has no effect here: {}", setting.key, text, option.text));
        return;
      }
      case OptionClass::refused:
        if (!is_harmless(option, value))
          fail(ErrorKind::unsupported, "{}: {} is not supported: {}", named(setting.place, setting.key),
               value.text, option.text);
    }
  }

  std::map<const Option*, Setting, ByKey> settings_;
};

}  // namespace

TrainConfig parse_train_config(std::string_view yaml, std::string_view source,
                               std::span<const FlagSetting> flags) {
  SettingsInForce settings;
  for (Setting& setting : read_yaml_settings(yaml, source)) settings.add(std::move(setting));
  for (const FlagSetting& flag : flags) settings.add(setting_of(flag));
  TrainConfig config;
  settings.apply_to(config);
  resolve(config);
  return config;
}

TrainConfig load_train_config(const std::optional<std::filesystem::path>& file,
                              std::span<const FlagSetting> flags) {
  if (!file) return parse_train_config("", "", flags);
  return parse_train_config(read_input(file->string()), file->string(), flags);
}

}  // namespace lemnos::train
