#include "io/rope_config.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>

#include "base/error.h"

namespace lemnos {
namespace {

struct TypeFields {
  std::string_view rope_type;
  std::vector<std::string_view> required;
  std::vector<std::string_view> optional;
};

const TypeFields& fields_of(const std::string& rope_type, const ConfigReader& parameters) {
  static const TypeFields kTypes[] = {
      {"default", {}, {}},
      {"linear", {"factor"}, {}},
      {"dynamic", {"factor"}, {}},
      {"yarn",
       {},
       {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow",
        "mscale", "mscale_all_dim", "truncate"}},
      {"longrope",
       {"short_factor", "long_factor"},
       {"original_max_position_embeddings", "attention_factor", "factor"}},
      {"llama3",
       {"factor", "low_freq_factor", "high_freq_factor"},
       {"original_max_position_embeddings"}},
  };
  for (const TypeFields& type : kTypes)
    if (type.rope_type == rope_type) return type;
  fail(ErrorKind::unsupported,
       "{}: the rope type \"{}\" is not supported; known are default, linear, dynamic, llama3, "
       "yarn and "
       "longrope",
       parameters.source(), rope_type);
}

/// What stands at the top of the config and fills gaps of the parameters.
struct TopLevel {
  std::optional<double> theta;
  std::optional<double> partial_rotary_factor;
  std::optional<int64_t> original_max_position_embeddings;
  int64_t max_position_embeddings = 0;
};

/// Wider than any model's, and narrow enough that no table computed from them in float32 overflows.
struct Limits {
  double low, high;
};
constexpr Limits kTheta{1, 1e30}, kPart{1e-3, 1}, kFactor{1e-6, 1e6}, kAttentionFactor{0, 1e6};
constexpr int64_t kMostPositions = std::numeric_limits<int32_t>::max();

std::optional<double> find_within(ConfigReader& parameters, std::string_view key, Limits limits) {
  const auto value = parameters.find_double(key);
  if (value) parameters.check_range(key, *value, limits.low, limits.high);
  return value;
}

std::vector<double> get_factors(ConfigReader& parameters, std::string_view key) {
  std::vector<double> factors = parameters.get_doubles(key);
  for (const double value : factors) parameters.check_range(key, value, kFactor.low, kFactor.high);
  return factors;
}

bool has_original_length(const std::string& rope_type) {
  return rope_type == "llama3" || rope_type == "yarn" || rope_type == "longrope";
}

/// Transformers lets the field at the top win, and falls back on the full length.
int64_t original_length(ConfigReader& parameters, const TopLevel& top) {
  const auto inside = parameters.find_int("original_max_position_embeddings");
  if (inside) parameters.check_range("original_max_position_embeddings", *inside, 1, kMostPositions);
  if (top.original_max_position_embeddings) return *top.original_max_position_embeddings;
  return inside.value_or(top.max_position_embeddings);
}

void read_factors(ConfigReader& parameters, RopeConfig& rope) {
  rope.factor = find_within(parameters, "factor", kFactor);
  if (rope.factor && *rope.factor < 1)
    parameters.note(format("{}: \"factor\" is {}, below 1", parameters.source(), *rope.factor));
  rope.attention_factor = find_within(parameters, "attention_factor", kAttentionFactor);
}

void read_yarn(ConfigReader& parameters, RopeConfig& rope) {
  // Transformers takes 0 for "not given" here.
  const auto given = [&](std::string_view key) {
    const auto value = parameters.find_double(key);
    if (!value || *value == 0) return std::optional<double>();
    return find_within(parameters, key, kFactor);
  };
  rope.beta_fast = given("beta_fast").value_or(32);
  rope.beta_slow = given("beta_slow").value_or(1);
  if (rope.beta_fast < rope.beta_slow) parameters.fail_field("beta_fast", "at least beta_slow");
  rope.mscale = given("mscale");
  rope.mscale_all_dim = given("mscale_all_dim");
  rope.truncate = parameters.get_bool_or("truncate", true);
  if (!rope.factor && !parameters.json().contains("factor"))
    parameters.fail_field("factor", "a number; yarn needs it");
}

void read_llama3(ConfigReader& parameters, RopeConfig& rope) {
  rope.low_freq_factor = *find_within(parameters, "low_freq_factor", kFactor);
  rope.high_freq_factor = *find_within(parameters, "high_freq_factor", kFactor);
  if (rope.high_freq_factor <= rope.low_freq_factor)
    parameters.fail_field("high_freq_factor", "more than low_freq_factor");
}

void refuse_unknown(ConfigReader& parameters, const std::string& rope_type,
                    const std::vector<std::string>& ignored) {
  const TypeFields& type = fields_of(rope_type, parameters);
  for (const auto& [key, value] : parameters.json().as_object()) {
    const auto is_key = [&, &name = key](std::string_view known) { return known == name; };
    const bool known = is_key("type") || is_key("rope_type") || is_key("rope_theta") ||
                       is_key("partial_rotary_factor") ||
                       std::ranges::any_of(type.required, is_key) ||
                       std::ranges::any_of(type.optional, is_key);
    if (known || value.is_null() || std::ranges::any_of(ignored, is_key)) continue;
    fail(ErrorKind::unsupported, "{}: the field \"{}\" = {} is not known for the rope type \"{}\"",
         parameters.source(), key, value.dump(), rope_type);
  }
}

std::string read_type(ConfigReader& parameters) {
  const auto modern = parameters.find_string("rope_type");
  const auto old = parameters.find_string("type");
  return modern ? *modern : old.value_or("default");
}

RopeConfig read_parameters(ConfigReader& parameters, const TopLevel& top,
                           const RopeReadOptions& options) {
  RopeConfig rope;
  rope.rope_type = read_type(parameters);
  refuse_unknown(parameters, rope.rope_type, options.ignored_fields);
  for (const std::string_view key : fields_of(rope.rope_type, parameters).required)
    if (!parameters.has(key))
      parameters.fail_field(key, format("a value; the rope type \"{}\" needs it", rope.rope_type));
  const auto theta = find_within(parameters, "rope_theta", kTheta);
  rope.theta = theta ? *theta : top.theta.value_or(options.default_theta);
  const auto partial = find_within(parameters, "partial_rotary_factor", kPart);
  rope.partial_rotary_factor = partial ? *partial : top.partial_rotary_factor.value_or(1.0);
  rope.max_position_embeddings = top.max_position_embeddings;
  if (has_original_length(rope.rope_type))
    rope.original_max_position_embeddings = original_length(parameters, top);
  if (rope.rope_type != "default") read_factors(parameters, rope);
  if (rope.rope_type == "yarn") read_yarn(parameters, rope);
  if (rope.rope_type == "llama3") read_llama3(parameters, rope);
  if (rope.rope_type == "longrope") {
    rope.short_factor = get_factors(parameters, "short_factor");
    rope.long_factor = get_factors(parameters, "long_factor");
    if (rope.short_factor.size() != rope.long_factor.size())
      parameters.fail_field("long_factor",
                            format("{} numbers, as short_factor", rope.short_factor.size()));
  }
  return rope;
}

TopLevel read_top_level(ConfigReader& config) {
  TopLevel top;
  top.theta = find_within(config, "rope_theta", kTheta);
  top.partial_rotary_factor = find_within(config, "partial_rotary_factor", kPart);
  top.original_max_position_embeddings = config.find_int("original_max_position_embeddings");
  top.max_position_embeddings = config.get_int("max_position_embeddings");
  config.check_range("max_position_embeddings", top.max_position_embeddings, 1, kMostPositions);
  if (top.original_max_position_embeddings)
    config.check_range("original_max_position_embeddings", *top.original_max_position_embeddings, 1, kMostPositions);
  return top;
}

/// The object of one spelling; an absent or empty one says nothing.
std::optional<ConfigReader> find_parameters(ConfigReader& config, std::string_view key,
                                            const std::string& layer_type) {
  auto section = config.find_section(key);
  if (!section || section->json().as_object().empty()) return std::nullopt;
  const auto& fields = section->json().as_object();
  const bool per_layer_type =
      std::ranges::any_of(fields, [](const auto& field) { return field.second.is_object(); });
  if (!per_layer_type) return section;
  if (layer_type.empty())
    config.fail_field(key, "one set of parameters, not one for each layer type");
  return section->get_section(layer_type);
}

void check_partial(const ConfigReader& config, const RopeConfig& rope,
                   const RopeReadOptions& options) {
  if (!options.partial_rotary && rope.partial_rotary_factor != 1)
    fail(ErrorKind::unsupported, "{}: \"partial_rotary_factor\" is {}; this family only supports 1",
         config.source(), rope.partial_rotary_factor);
}

}  // namespace

RopeConfig read_rope_config(ConfigReader& config, const RopeReadOptions& options) {
  const TopLevel top = read_top_level(config);
  std::optional<RopeConfig> result;
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    auto parameters = find_parameters(config, key, options.layer_type);
    if (!parameters) continue;
    const RopeConfig read = read_parameters(*parameters, top, options);
    for (const std::string& note : parameters->notes()) config.note(note);
    if (result && *result != read)
      fail(ErrorKind::corrupt_input,
           "{}: \"rope_scaling\" and \"rope_parameters\" contradict each other; keep the right one",
           config.source());
    if (top.theta && *top.theta != read.theta)
      config.note(
          format("{}: \"rope_theta\" is {} inside \"{}\" and {} outside; the one inside counts, as "
                 "in Transformers",
                 config.source(), read.theta, key, *top.theta));
    result = read;
  }
  if (!result) {
    ConfigReader nothing(Json::object(), config.source());
    result = read_parameters(nothing, top, options);
  }
  check_partial(config, *result, options);
  return *result;
}

namespace {

void write_longrope(const RopeConfig& rope, Json& parameters) {
  Json short_factor = Json::array(), long_factor = Json::array();
  for (const double value : rope.short_factor) short_factor.push_back(value);
  for (const double value : rope.long_factor) long_factor.push_back(value);
  parameters.set("short_factor", short_factor);
  parameters.set("long_factor", long_factor);
}

void write_yarn(const RopeConfig& rope, Json& parameters) {
  if (!rope.factor) parameters.set("factor", Json());
  parameters.set("beta_fast", rope.beta_fast);
  parameters.set("beta_slow", rope.beta_slow);
  if (rope.mscale) parameters.set("mscale", *rope.mscale);
  if (rope.mscale_all_dim) parameters.set("mscale_all_dim", *rope.mscale_all_dim);
  parameters.set("truncate", rope.truncate);
}

}  // namespace

void write_rope_config(const RopeConfig& rope, Json& config) {
  Json parameters = Json::object();
  parameters.set("rope_type", rope.rope_type);
  if (rope.factor) parameters.set("factor", *rope.factor);
  if (rope.original_max_position_embeddings != 0)
    parameters.set("original_max_position_embeddings", rope.original_max_position_embeddings);
  if (rope.attention_factor) parameters.set("attention_factor", *rope.attention_factor);
  if (rope.rope_type == "yarn") write_yarn(rope, parameters);
  if (rope.rope_type == "llama3") {
    parameters.set("low_freq_factor", rope.low_freq_factor);
    parameters.set("high_freq_factor", rope.high_freq_factor);
  }
  if (rope.rope_type == "longrope") write_longrope(rope, parameters);
  if (rope.partial_rotary_factor != 1)
    parameters.set("partial_rotary_factor", rope.partial_rotary_factor);
  config.set("rope_theta", rope.theta);
  config.set("rope_scaling", rope.rope_type == "default" ? Json() : parameters);
  parameters.set("rope_theta", rope.theta);
  config.set("rope_parameters", parameters);
}

}  // namespace lemnos
