// Whatever config.json says: the model's outline follows from it, or it is an Error: corrupt, or unsupported.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "models/model_builder.h"
#include "support/property.h"

namespace lemnos::test {
namespace {

using Random = std::mt19937_64;

Json sound_config(Random& random) {
  static constexpr const char* kTypes[] = {"llama", "mistral", "mixtral", "qwen2", "qwen3"};
  Json json = Json::parse(R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
      "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "hidden_act": "silu"})", "sound");
  json.set("model_type", pick(kTypes, random));
  if (random() % 2 == 0) json.set("head_dim", 6);
  if (random() % 3 == 0)
    json.set("rope_scaling", Json::parse(R"({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32})", "yarn"));
  return json;
}

const std::vector<Json>& odd_values() {
  static const std::vector<Json> values = {
      Json(), true, false, 0, 1, -1, 2, 3, 7, int64_t{1} << 20, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN,
      0.0, 0.5, -2.5, 1e-300, 1e300, HUGE_VAL, std::nan(""), "", "silu", "gelu", "full_attention", Json::array(),
      Json::object(), Json::parse("[1, 2]", "odd"), Json::parse(R"(["sliding_attention", "full_attention"])", "odd"),
      Json::parse(R"({"rope_type": "linear", "factor": 2.0})", "odd"), Json::parse(R"({"type": "dynamic"})", "odd"),
      Json::parse(R"({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0,
                      "original_max_position_embeddings": 0})", "odd"),
      Json::parse(R"({"rope_type": "longrope", "short_factor": [1.0], "long_factor": []})", "odd"),
      Json::parse(R"({"rope_theta": -1.0})", "odd")};
  return values;
}

void change(Json& json, Random& random) {
  static constexpr const char* kFields[] = {
      "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
      "head_dim", "max_position_embeddings", "hidden_act", "rms_norm_eps", "initializer_range", "rope_theta",
      "rope_scaling", "rope_parameters", "tie_word_embeddings", "attention_bias", "mlp_bias", "sliding_window",
      "use_sliding_window", "max_window_layers", "layer_types", "num_local_experts", "num_experts_per_tok",
      "pad_token_id", "bos_token_id", "eos_token_id", "partial_rotary_factor", "model_type", "quantization_config",
      "output_router_logits", "original_max_position_embeddings"};
  const char* field = pick(kFields, random);
  if (random() % 8 == 0)
    json.erase(field);
  else
    json.set(field, pick(odd_values(), random));
}

void expect_sound(const Json& json, uint64_t number) {
  const ModelConfig config = read_model_config(json, "config.json");
  for (const Value& value : outline(config).parameters) {
    int64_t elements = 0;
    for (const DiskSlice& slice : disk_layout(config, value.name, value.type.shape)) {
      EXPECT_EQ(slice.first_element, elements) << "case " << number << ": " << slice.name;
      EXPECT_GT(element_count(slice.shape), 0) << "case " << number << ": " << slice.name;
      elements += element_count(slice.shape);
    }
    EXPECT_EQ(elements, element_count(value.type.shape)) << "case " << number << ": " << value.name;
  }
}

TEST(ConfigProperty, AnOddConfigIsAnErrorOrGivesAnOutline) {
  const uint64_t cases = property_cases(3000);
  uint64_t accepted = 0;
  for (uint64_t number = 0; number < cases; ++number) {
    Random random(number);
    Json json = sound_config(random);
    for (auto times = random() % 3; times > 0; --times) change(json, random);
    try {
      expect_sound(json, number);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(error.kind() == ErrorKind::corrupt_input || error.kind() == ErrorKind::unsupported)
          << "case " << number << ": " << error.what();
      const bool names_the_file = std::string_view(error.what()).find("config.json") != std::string_view::npos;
      EXPECT_TRUE(names_the_file || error.kind() == ErrorKind::unsupported) << "case " << number << ": " << error.what();
    } catch (const std::exception& other) {
      FAIL() << "case " << number << ": " << other.what() << "\n" << json.dump();
    }
  }
  EXPECT_GT(accepted, cases / 4);
  EXPECT_LT(accepted, cases * 3 / 4);
}

}  // namespace
}  // namespace lemnos::test
