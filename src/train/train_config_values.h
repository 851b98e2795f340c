#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/train_config_options.h"

namespace lemnos::train {

/// A value as it was written. Types come from the option, not from YAML's guesses, so that 2e-4 is
/// a number and `no` a word wherever the option says so.
struct RawValue {
  enum class Kind { null, scalar, list, other };
  Kind kind = Kind::null;
  std::string text;                ///< of a scalar; of the others a rendering for messages
  std::vector<std::string> items;  ///< of a list of scalars
  bool empty = false;              ///< an empty list or map
  bool absent = false;             ///< a flag without a value; `text` is "true"
};

struct Setting {
  std::string key;
  RawValue value;
  SettingPlace place;
};

/// How messages name an option that was given: "run.yaml:3: lora_r"; a flag by itself.
std::string named(const SettingPlace& place, std::string_view key);

/// The settings of a YAML file in order. Error{usage} with file:line for what is not one map of
/// keys to values.
std::vector<Setting> read_yaml_settings(std::string_view yaml, std::string_view source);
Setting setting_of(const FlagSetting& flag);

/// Converts and stores an applied option; Error{usage} says what was expected.
void assign(TrainConfig& config, const Option& option, const Setting& setting);
/// Puts an applied option back to its default, as if it had not been given.
void reset(TrainConfig& config, const Option& option);
/// Whether a refused option's value is one that changes nothing.
bool is_harmless(const Option& option, const RawValue& value);

/// Refuses contradictions, fills in what one option implies for another, and adds notes.
void resolve(TrainConfig& config);

}  // namespace lemnos::train
