#include "train/train_config_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <type_traits>

#include "base/error.h"

namespace lemnos::train {
namespace {

template <typename E>
struct Choice {
  std::string_view name;
  E value;
};

constexpr std::array kLrSchedulers = {
    Choice<LrSchedulerType>{"constant", LrSchedulerType::constant},
    Choice<LrSchedulerType>{"constant_with_warmup", LrSchedulerType::constant_with_warmup},
    Choice<LrSchedulerType>{"linear", LrSchedulerType::linear},
    Choice<LrSchedulerType>{"cosine", LrSchedulerType::cosine}};
constexpr std::array kGemmChoices = {Choice<GemmChoice>{"auto", GemmChoice::automatic},
                                     Choice<GemmChoice>{"fma", GemmChoice::fma},
                                     Choice<GemmChoice>{"split", GemmChoice::split}};
constexpr std::array kSaveStrategies = {Choice<SaveStrategy>{"no", SaveStrategy::no},
                                        Choice<SaveStrategy>{"steps", SaveStrategy::steps},
                                        Choice<SaveStrategy>{"epoch", SaveStrategy::epoch}};
constexpr std::array kSamplingStrategies = {
    Choice<SamplingStrategy>{"random", SamplingStrategy::random},
    Choice<SamplingStrategy>{"sequential", SamplingStrategy::sequential}};
constexpr std::array kOptimizers = {
    Choice<OptimizerName>{"adamw_torch", OptimizerName::adamw_torch},
    Choice<OptimizerName>{"adamw_torch_fused", OptimizerName::adamw_torch_fused}};

constexpr const auto& choices(LrSchedulerType) { return kLrSchedulers; }
constexpr const auto& choices(GemmChoice) { return kGemmChoices; }
constexpr const auto& choices(SaveStrategy) { return kSaveStrategies; }
constexpr const auto& choices(SamplingStrategy) { return kSamplingStrategies; }
constexpr const auto& choices(OptimizerName) { return kOptimizers; }

template <typename E>
std::string list_choices() {
  std::string text;
  for (const auto& choice : choices(E{}))
    text += (text.empty() ? "" : ", ") + std::string(choice.name);
  return text;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::optional<bool> bool_in(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
}

template <typename T>
std::optional<T> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>)
    if (!std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_not_finite(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);  // YAML's .inf and .nan
  const std::string word = lower(text);
  return word == "nan" || word == "inf" || word == "infinity";
}

std::optional<Fraction> fraction_in(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  const std::optional<double> percent = number_in<double>(text.substr(0, text.size() - 1));
  if (!percent || *percent <= 0 || *percent > 100) return std::nullopt;
  return Fraction{*percent / 100};
}

std::optional<ByteSize> bytes_in(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"KiB", 1024.0},
                                                            {"MiB", 1024.0 * 1024},
                                                            {"GiB", 1024.0 * 1024 * 1024},
                                                            {"KB", 1e3},
                                                            {"MB", 1e6},
                                                            {"GB", 1e9},
                                                            {"B", 1}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    std::string_view digits = text.substr(0, text.size() - unit.size());
    while (digits.ends_with(' ')) digits.remove_suffix(1);
    const std::optional<double> count = number_in<double>(digits);
    if (!count || *count <= 0 || *count * factor > 1e18) return std::nullopt;
    return ByteSize{static_cast<int64_t>(*count * factor)};
  }
  return std::nullopt;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    const bool quoted = part.size() > 1 && part.front() == part.back() && (part.front() == '"' || part.front() == '\'');
    if (quoted) part = part.substr(1, part.size() - 2);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

/// What stands between the brackets of "[a, b]"; a regular expression has others inside.
std::optional<std::string_view> inside_brackets(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  const std::string_view inside = text.substr(1, text.size() - 2);
  return inside.find_first_of("[]") == std::string_view::npos ? std::optional(inside) : std::nullopt;
}

/// "a, b" and "[a, b]" are lists as well as YAML's.
std::vector<std::string> items_of(const RawValue& value) {
  if (value.kind == RawValue::Kind::list) return value.items;
  if (value.kind != RawValue::Kind::scalar) return {};
  return split_at_commas(inside_brackets(value.text).value_or(value.text));
}

/// The items of a flag's words, however they are written: a b, a,b, "a, b", [a, b].
std::vector<std::string> items_in(const std::vector<std::string>& words, const std::string& joined) {
  if (const auto inside = inside_brackets(joined)) return split_at_commas(*inside);
  std::vector<std::string> items;
  for (const std::string& word : words)
    for (std::string& item : split_at_commas(word)) items.push_back(std::move(item));
  return items;
}

/// A dot alone does not make a regular expression: it stands in module names.
bool is_names_only(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') ||
           std::string_view("_-., ").find(c) != std::string_view::npos;
  });
}

std::optional<TargetModules> targets_in(const RawValue& value) {
  RawValue names = value;  // spaces as commas: no module name holds one
  std::replace(names.text.begin(), names.text.end(), ' ', ',');
  const std::vector<std::string> items = items_of(names);
  TargetModules targets;
  const bool scalar = value.kind == RawValue::Kind::scalar && !inside_brackets(value.text);
  if (items.size() == 1 && items.front() == "all-linear") {
    targets.kind = TargetModules::Kind::all_linear;
  } else if (scalar && !is_names_only(value.text)) {
    targets.kind = TargetModules::Kind::regex;
    targets.regex = value.text;
  } else {
    targets.suffixes = items;
  }
  return items.empty() ? std::nullopt : std::optional(targets);
}

/// One reader per type: an empty result means that the text is not of this type.
template <typename T>
std::optional<T> read(const RawValue& value) {
  const bool scalar = value.kind == RawValue::Kind::scalar;
  if constexpr (std::is_same_v<T, TargetModules>) return targets_in(value);
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    const std::vector<std::string> items = items_of(value);
    return items.empty() ? std::nullopt : std::optional(items);
  }
  if (!scalar) return std::nullopt;
  if constexpr (std::is_same_v<T, bool>) return bool_in(value.text);
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>)
    return number_in<T>(value.text);
  if constexpr (std::is_same_v<T, std::string>)
    return value.text.empty() ? std::nullopt : std::optional(value.text);
  if constexpr (std::is_same_v<T, ByteSize>) return bytes_in(value.text);
  if constexpr (std::is_same_v<T, Fraction>) return fraction_in(value.text);
  if constexpr (std::is_enum_v<T>)
    for (const auto& choice : choices(T{}))
      if (choice.name == value.text) return choice.value;
  return std::nullopt;
}

template <typename T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer";
  if constexpr (std::is_same_v<T, double>) return "a number";
  if constexpr (std::is_same_v<T, std::string>) return "text";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a name or a list of names";
  if constexpr (std::is_same_v<T, ByteSize>) return "a size such as 6GiB";
  if constexpr (std::is_same_v<T, Fraction>) return "a percentage such as 0.5%";
  if constexpr (std::is_same_v<T, TargetModules>)
    return "all-linear, a list of names, or a regular expression";
  if constexpr (std::is_enum_v<T>) return "one of " + list_choices<T>();
}

template <typename T>
struct Unwrapped {
  using Type = T;
  static constexpr bool optional = false;
};
template <typename T>
struct Unwrapped<std::optional<T>> {
  using Type = T;
  static constexpr bool optional = true;
};

template <typename T>
void check_range(const Option& option, const Setting& setting, const T& value) {
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>)
    if (!option.range.contains(static_cast<double>(value)))
      fail(ErrorKind::usage, "{} is {}, expected {}", named(setting.place, option.key), setting.value.text,
           option.range.text());
}

/// Null, and "auto" where only a number, or true or false could stand.
template <typename T>
bool means_default(const RawValue& value) {
  return value.kind == RawValue::Kind::null ||
         ((std::is_same_v<T, int64_t> || std::is_same_v<T, bool>) && value.kind == RawValue::Kind::scalar &&
          value.text == "auto");
}

template <typename Stored>
void store(Stored& target, const Option& option, const Setting& setting) {
  using T = typename Unwrapped<Stored>::Type;
  constexpr bool kOptional = Unwrapped<Stored>::optional;
  if (setting.value.absent && !std::is_same_v<T, bool> && option.key != "resume_from_checkpoint")
    fail(ErrorKind::usage, "{} needs a value, {}", setting.place.place, type_name<T>());
  if constexpr (kOptional)
    if (means_default<T>(setting.value)) {
      target = std::nullopt;
      return;
    }
  std::optional<T> value;
  if (setting.value.kind != RawValue::Kind::null) value = read<T>(setting.value);
  if (!value)
    fail(ErrorKind::usage, "{} is {}, expected {}{}", named(setting.place, option.key),
         setting.value.kind == RawValue::Kind::null ? "null" : '"' + setting.value.text + '"',
         std::is_same_v<T, double> && is_not_finite(setting.value.text) ? "a finite number" : type_name<T>(),
         kOptional ? " or null" : "");
  check_range(option, setting, *value);
  target = std::move(*value);
}

Json to_json(bool value) { return value; }
Json to_json(int64_t value) { return value; }
Json to_json(double value) { return value; }
Json to_json(const std::string& value) { return value; }
Json to_json(const ByteSize& value) { return value.bytes; }
Json to_json(const Fraction& value) { return format("{}%", value.value * 100); }
Json to_json(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values) list.push_back(value);
  return list;
}
Json to_json(const TargetModules& value) {
  if (value.kind == TargetModules::Kind::all_linear) return "all-linear";
  if (value.kind == TargetModules::Kind::regex) return value.regex;
  return to_json(value.suffixes);
}
template <typename E>
requires std::is_enum_v<E> Json to_json(E value) {
  for (const auto& choice : choices(E{}))
    if (choice.value == value) return choice.name;
  return {};
}
template <typename T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json();
}

/// Calls `use` with the pointer to member of an applied option.
template <typename Use>
auto with_member(const Option& option, Use use) {
  return std::visit(
      [&](auto member) -> decltype(use(&TrainConfig::seed)) {
        if constexpr (std::is_same_v<decltype(member), std::monostate>) {
          LEMNOS_CHECK(false, "option {} has no member", option.key);
          return decltype(use(&TrainConfig::seed))();
        } else {
          return use(member);
        }
      },
      option.member);
}

template <typename T>
T member_type(T TrainConfig::*);

}  // namespace

std::string named(const SettingPlace& place, std::string_view key) {
  return place.source == SettingSource::flag ? place.place : format("{}: {}", place.place, key);
}

Setting setting_of(const FlagSetting& flag) {
  Setting setting{flag.key, {}, {SettingSource::flag, flag_name(flag.key)}};
  RawValue& value = setting.value;
  for (const std::string& item : flag.values) value.text += (value.text.empty() ? "" : " ") + item;
  const bool list = flag.values.size() > 1 || inside_brackets(value.text);
  value.kind = list ? RawValue::Kind::list : RawValue::Kind::scalar;
  if (list) value.items = items_in(flag.values, value.text);
  value.empty = list && value.items.empty();
  value.absent = flag.values.empty();
  if (value.absent) value.text = "true";
  if (value.text == "null" || value.text == "None") value = {};
  return setting;
}

void assign(TrainConfig& config, const Option& option, const Setting& setting) {
  with_member(option, [&](auto member) { store(config.*member, option, setting); });
}

void reset(TrainConfig& config, const Option& option) {
  with_member(option, [&](auto member) { config.*member = TrainConfig().*member; });
  config.given.erase(config.given.find(option.key));
}

bool is_harmless(const Option& option, const RawValue& value) {
  if (value.kind == RawValue::Kind::null || value.empty) return true;
  if (value.kind != RawValue::Kind::scalar) return false;
  std::string_view words = option.harmless;
  while (!words.empty()) {
    const size_t space = std::min(words.find(' '), words.size());
    const std::string_view word = words.substr(0, space);
    words.remove_prefix(std::min(space + 1, words.size()));
    if (lower(word) == lower(value.text)) return true;
    const std::optional<bool> wanted = bool_in(word);
    if (wanted && wanted == bool_in(value.text)) return true;
    const std::optional<double> number = number_in<double>(word);
    if (number && number == number_in<double>(value.text)) return true;
  }
  return false;
}

std::string type_text(const Option& option) {
  return with_member(option, [](auto member) {
    using Stored = decltype(member_type(member));
    const std::string name = type_name<typename Unwrapped<Stored>::Type>();
    return Unwrapped<Stored>::optional ? name + ", or null" : name;
  });
}

Json value_of(const TrainConfig& config, const Option& option) {
  return with_member(option, [&](auto member) { return to_json(config.*member); });
}

}  // namespace lemnos::train
