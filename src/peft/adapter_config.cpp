#include "peft/adapter_config.h"

#include <algorithm>

#include "base/error.h"
#include "io/hf_config.h"

namespace lemnos {
namespace {

/// Keys of PEFT's LoraConfig that must have this value here, which is PEFT's default.
const std::vector<std::pair<const char*, Json>>& fixed_keys() {
  static const std::vector<std::pair<const char*, Json>> keys = {
      {"alora_invocation_tokens", nullptr}, {"alpha_pattern", Json::object()}, {"arrow_config", nullptr},
      {"bias", "none"}, {"corda_config", nullptr}, {"ensure_weight_tying", false}, {"eva_config", nullptr},
      {"exclude_modules", nullptr}, {"fan_in_fan_out", false}, {"init_lora_weights", true},
      {"kasa_config", nullptr}, {"layer_replication", nullptr}, {"layers_pattern", nullptr},
      {"layers_to_transform", nullptr}, {"loftq_config", Json::object()}, {"lora_bias", false},
      {"lora_ga_config", nullptr}, {"modules_to_save", nullptr}, {"monteclora_config", nullptr},
      {"peft_type", "LORA"}, {"rank_pattern", Json::object()}, {"target_parameters", nullptr},
      {"task_type", "CAUSAL_LM"}, {"trainable_token_indices", nullptr}, {"use_bdlora", nullptr},
      {"use_dora", false}, {"use_qalora", false}, {"use_rslora", false}, {"velora_config", nullptr}};
  return keys;
}

/// More than any adapter has; products with a width still fit.
constexpr int64_t kMostRank = 1'000'000'000;  // lora_r's limit
constexpr double kMostAlpha = 1e12;

/// Keys without effect on the mathematics of a plain adapter.
constexpr const char* kHarmless[] = {"auto_mapping", "inference_mode", "megatron_config", "megatron_core",
                                     "peft_version", "qalora_group_size", "revision", "base_model_name_or_path"};

TargetModules read_targets(ConfigReader& reader) {
  const Json* value = reader.find("target_modules");
  if (value == nullptr) reader.fail_field("target_modules", "a string or a list of names");
  if (value->is_string()) return {value->as_string()};
  return {reader.get_strings("target_modules")};
}

bool is_empty(const Json& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) || (value.is_object() && value.as_object().empty()) ||
         (value.is_array() && value.as_array().empty());
}

void refuse_the_rest(ConfigReader& reader) {
  for (const auto& [key, wanted] : fixed_keys()) {
    const Json* found = reader.find(key);
    if (found == nullptr || *found == wanted || (is_empty(*found) && is_empty(wanted))) continue;
    if (std::string_view(key) == "task_type" && is_empty(*found)) continue;
    fail(ErrorKind::unsupported, "{}: {} is {}; only {} is supported", reader.source(), key, found->dump(), wanted.dump());
  }
  for (const char* key : kHarmless) reader.ignore(key);
  for (const auto& [key, value] : reader.json().as_object()) {
    const bool known = std::any_of(fixed_keys().begin(), fixed_keys().end(), [&](const auto& k) { return key == k.first; }) ||
                       std::find(std::begin(kHarmless), std::end(kHarmless), key) != std::end(kHarmless) ||
                       key == "r" || key == "lora_alpha" || key == "lora_dropout" || key == "target_modules";
    if (!known && !is_empty(value))
      fail(ErrorKind::unsupported, "{}: {} = {} is not known to this program", reader.source(), key, value.dump());
  }
}

}  // namespace

AdapterConfig read_adapter_config(const std::filesystem::path& file) {
  ConfigReader reader = ConfigReader::open(file);
  AdapterConfig config;
  if (const std::string type = reader.get_string("peft_type"); type != "LORA")
    fail(ErrorKind::unsupported, "{}: peft_type {} is not supported (LORA is)", reader.source(), type);
  config.lora.r = reader.get_int("r");
  reader.check_range("r", config.lora.r, 1, kMostRank);
  config.lora.lora_alpha = reader.get_double("lora_alpha");
  reader.check_range("lora_alpha", config.lora.lora_alpha, -kMostAlpha, kMostAlpha);
  config.lora.lora_dropout = reader.get_double_or("lora_dropout", 0.0);
  reader.check_range("lora_dropout", config.lora.lora_dropout, 0, 1);
  config.lora.target_modules = read_targets(reader);
  config.base_model_name_or_path = reader.get_string_or("base_model_name_or_path", "");
  refuse_the_rest(reader);
  return config;
}

Json adapter_config_json(const AdapterConfig& config) {
  Json::Object keys;
  const auto put = [&](const char* key, Json value) { keys.emplace_back(key, std::move(value)); };
  for (const auto& [key, value] : fixed_keys()) put(key, value);
  put("auto_mapping", nullptr);
  put("base_model_name_or_path",
      config.base_model_name_or_path.empty() ? Json() : Json(config.base_model_name_or_path));
  put("inference_mode", true);
  const double alpha = config.lora.lora_alpha;
  put("lora_alpha", alpha == static_cast<double>(static_cast<int64_t>(alpha)) ? Json(static_cast<int64_t>(alpha)) : Json(alpha));
  put("lora_dropout", config.lora.lora_dropout);
  put("r", config.lora.r);
  if (const auto* text = std::get_if<std::string>(&config.lora.target_modules.spec)) {
    put("target_modules", *text);
  } else {
    Json list = Json::array();
    for (const std::string& name : std::get<std::vector<std::string>>(config.lora.target_modules.spec)) list.push_back(name);
    put("target_modules", std::move(list));
  }
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return Json(std::move(keys));
}

}  // namespace lemnos
