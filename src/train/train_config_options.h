#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "train/train_config.h"

namespace lemnos::train {

enum class OptionClass {
  applied,
  noted,   ///< no effect here; the log says so
  refused  ///< ignoring it would change what is learned; only a harmless value is accepted
};

/// Where an applied option's value goes; its type is the option's type.
using OptionMember =
    std::variant<std::monostate, bool TrainConfig::*, int64_t TrainConfig::*, double TrainConfig::*,
                 std::string TrainConfig::*, std::vector<std::string> TrainConfig::*,
                 std::optional<bool> TrainConfig::*, std::optional<int64_t> TrainConfig::*,
                 std::optional<std::string> TrainConfig::*,
                 std::optional<TargetModules> TrainConfig::*,
                 std::optional<ByteSize> TrainConfig::*, std::optional<Fraction> TrainConfig::*,
                 LrSchedulerType TrainConfig::*, SaveStrategy TrainConfig::*, GemmChoice TrainConfig::*,
                 SamplingStrategy TrainConfig::*, OptimizerName TrainConfig::*>;

/// The values a number may have.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;
  bool contains(double value) const;
  /// "at least 1", "at least 0 and below 1"; empty when any number will do.
  std::string text() const;
};

struct Option {
  std::string_view key;
  OptionClass option_class = OptionClass::applied;
  /// A heading of docs/options.md.
  std::string_view group;
  OptionMember member;
  Range range;
  /// Applied: what it does. Noted and refused: the reason.
  std::string_view text;
  /// Refused: values that are accepted nevertheless, separated by spaces; null always is.
  std::string_view harmless;
  /// Another spelling of this key, and nothing more.
  std::string_view alias_of;
};

std::span<const Option> applied_options();
std::span<const Option> noted_options();
std::span<const Option> refused_options();

/// Null when no option has this key.
const Option* find_option(std::string_view key);
/// The known key that `key` is probably meant to be, applied ones first; empty when none is near.
std::string_view nearest_key(std::string_view key);
/// "--learning-rate" for "learning_rate".
std::string flag_name(std::string_view key);

/// "number", "list of names", ...; of an applied option.
std::string type_text(const Option& option);
/// The value in force, as JSON; of an applied option.
Json value_of(const TrainConfig& config, const Option& option);

/// The applied options with their defaults, as `lemnos train --help` lists them.
std::string options_help();
/// The whole of docs/options.md.
std::string options_markdown();

}  // namespace lemnos::train
