#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "models/model_builder.h"

namespace lemnos {
namespace {

Json tiny(const char* type) {
  Json json = Json::parse(R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24,
      "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
      "max_position_embeddings": 64, "hidden_act": "silu"})", "tiny");
  json.set("model_type", type);
  return json;
}

Json with(Json json, const char* key, Json value) {
  json.set(key, std::move(value));
  return json;
}

void expect_refused(const Json& json, ErrorKind kind, const char* part) {
  try {
    read_model_config(json, "config.json");
    ADD_FAILURE() << "accepted: " << json.dump();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
  }
}

using Shapes = std::map<std::string, Shape>;

/// The tensors as they are on disk.
Shapes shapes_of(const Json& json) {
  const ModelConfig config = read_model_config(json, "config.json");
  Shapes shapes;
  for (const Value& value : outline(config).parameters)
    for (const DiskSlice& slice : disk_layout(config, value.name, value.type.shape))
      EXPECT_TRUE(shapes.emplace(slice.name, slice.shape).second) << slice.name << " twice";
  return shapes;
}

/// state_dict() of the tiny LlamaForCausalLM.
Shapes llama_shapes() {
  const std::string layer = "model.layers.0.";
  return {{"model.embed_tokens.weight", {40, 16}},
          {layer + "self_attn.q_proj.weight", {24, 16}},
          {layer + "self_attn.k_proj.weight", {12, 16}},
          {layer + "self_attn.v_proj.weight", {12, 16}},
          {layer + "self_attn.o_proj.weight", {16, 24}},
          {layer + "mlp.gate_proj.weight", {24, 16}},
          {layer + "mlp.up_proj.weight", {24, 16}},
          {layer + "mlp.down_proj.weight", {16, 24}},
          {layer + "input_layernorm.weight", {16}},
          {layer + "post_attention_layernorm.weight", {16}},
          {"model.norm.weight", {16}},
          {"lm_head.weight", {40, 16}}};
}

TEST(Families, NamesAndShapesAreHuggingFaces) {
  const std::string attention = "model.layers.0.self_attn.", mlp = "model.layers.0.mlp.";
  EXPECT_EQ(shapes_of(tiny("llama")), llama_shapes());
  EXPECT_EQ(shapes_of(tiny("mistral")), llama_shapes());

  Shapes biased = llama_shapes();
  for (const auto& [name, size] : {std::pair{"q", 24}, {"k", 12}, {"v", 12}})
    biased[attention + name + "_proj.bias"] = {size};
  EXPECT_EQ(shapes_of(tiny("qwen2")), biased);
  biased[attention + "o_proj.bias"] = {16};
  EXPECT_EQ(shapes_of(with(tiny("llama"), "attention_bias", true)), biased);
  for (const auto& [name, size] : {std::pair{"gate", 24}, {"up", 24}, {"down", 16}})
    biased[mlp + name + "_proj.bias"] = {size};
  EXPECT_EQ(shapes_of(with(with(tiny("llama"), "attention_bias", true), "mlp_bias", true)), biased);

  Shapes normed = llama_shapes();
  normed[attention + "q_norm.weight"] = normed[attention + "k_norm.weight"] = {6};
  EXPECT_EQ(shapes_of(tiny("qwen3")), normed);

  Shapes tied = llama_shapes();
  tied.erase("lm_head.weight");
  EXPECT_EQ(shapes_of(with(tiny("llama"), "tie_word_embeddings", true)), tied);
}

TEST(Families, ExpertsAreSlicesOfTwoParameters) {
  const Json json = with(tiny("mixtral"), "num_local_experts", 3);
  Shapes expected = llama_shapes();
  for (const char* name : {"gate", "up", "down"}) expected.erase(std::string("model.layers.0.mlp.") + name + "_proj.weight");
  const std::string block = "model.layers.0.block_sparse_moe.";
  expected[block + "gate.weight"] = {3, 16};
  for (const std::string expert : {"0", "1", "2"}) {
    expected[block + "experts." + expert + ".w1.weight"] = {24, 16};
    expected[block + "experts." + expert + ".w2.weight"] = {16, 24};
    expected[block + "experts." + expert + ".w3.weight"] = {24, 16};
  }
  EXPECT_EQ(shapes_of(json), expected);

  const auto slices = disk_layout(read_model_config(json, "config.json"),
                                  "model.layers.0.mlp.experts.gate_up_proj", {3, 48, 16});
  ASSERT_EQ(slices.size(), 6u);
  int64_t next = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    EXPECT_TRUE(slices[i].name.ends_with(i % 2 == 0 ? ".w1.weight" : ".w3.weight")) << slices[i].name;
    EXPECT_EQ(slices[i].first_element, next);
    next += element_count(slices[i].shape);
  }
  EXPECT_EQ(next, 3 * 48 * 16);
}

TEST(Families, WhatIsNotSupportedIsRefusedByName) {
  const auto unsupported = ErrorKind::unsupported;
  expect_refused(tiny("mamba"), unsupported, "mamba");
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3"}) {
    expect_refused(with(tiny(type), "hidden_act", "gelu"), unsupported, "hidden_act");
    expect_refused(with(tiny(type), "attention_dropout", 0.1), unsupported, "attention_dropout");
    expect_refused(with(tiny(type), "quantization_config", Json::parse(R"({"bits": 4})", "q")), unsupported, "quantization_config");
    expect_refused(with(tiny(type), "logit_wobble", 2.5), unsupported, "logit_wobble");
    EXPECT_NO_THROW(read_model_config(with(tiny(type), "logit_wobble", nullptr), "config.json"));
  }
  expect_refused(with(tiny("mixtral"), "output_router_logits", true), unsupported, "output_router_logits");
}

TEST(Families, HeadsMustDivide) {
  const auto corrupt = ErrorKind::corrupt_input;
  expect_refused(with(tiny("llama"), "num_key_value_heads", 3), corrupt, "num_key_value_heads");
  expect_refused(with(tiny("llama"), "num_attention_heads", 0), corrupt, "num_attention_heads");
  expect_refused(with(tiny("llama"), "head_dim", 5), corrupt, "head_dim");
  expect_refused(with(tiny("llama"), "hidden_size", -16), corrupt, "hidden_size");
  expect_refused(with(tiny("llama"), "vocab_size", "many"), corrupt, "vocab_size");
  expect_refused(with(tiny("llama"), "pad_token_id", 40), corrupt, "pad_token_id");
  expect_refused(with(tiny("mixtral"), "num_experts_per_tok", 9), corrupt, "num_experts_per_tok");
}

struct Odd {
  const char* key;
  std::vector<Json> values;
};

TEST(Families, EachNumberHasItsRange) {
  const double infinity = HUGE_VAL, nan = std::nan("");
  const std::vector<Odd> of_all = {
      {"rms_norm_eps", {-1, 0, 0.0, -1e-6, 1e-50, 2, infinity, -infinity, nan}},
      {"initializer_range", {-0.02, 1e9, infinity, nan}},
      {"rope_theta", {0, -10000, 0.5, 1e-300, 1e300, infinity, nan}},
      {"max_position_embeddings", {0, -1, int64_t{1} << 40}},
      {"original_max_position_embeddings", {0, -1, int64_t{1} << 40}},
      {"partial_rotary_factor", {0, -1, 1.5, nan}},
      {"eos_token_id", {-2, (int64_t{1} << 32) + 2, Json::parse("[2, -7]", "ids")}},
      {"bos_token_id", {-2, int64_t{1} << 32}}};
  for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3"})
    for (const auto& [key, values] : of_all)
      for (const Json& value : values) expect_refused(with(tiny(type), key, value), ErrorKind::corrupt_input, key);
  for (const char* type : {"mistral", "mixtral"})
    for (const int64_t window : {int64_t{-1}, int64_t{1} << 40})
      expect_refused(with(tiny(type), "sliding_window", window), ErrorKind::corrupt_input, "sliding_window");
  for (const char* type : {"qwen2", "qwen3"}) {
    expect_refused(with(tiny(type), "max_window_layers", -1), ErrorKind::corrupt_input, "max_window_layers");
    expect_refused(with(with(tiny(type), "use_sliding_window", true), "sliding_window", 0), ErrorKind::corrupt_input, "sliding_window");
  }
  expect_refused(with(tiny("llama"), "rms_norm_eps", -1), ErrorKind::corrupt_input,
                 "config.json: \"rms_norm_eps\" is -1, expected a number from 1e-30 to 1");
}

TEST(Families, RopeFieldsGiveTablesOfFiniteNumbers) {
  const auto refuse = [](const char* scaling, const char* part) {
    expect_refused(with(tiny("llama"), "rope_scaling", Json::parse(scaling, "rope")), ErrorKind::corrupt_input, part);
  };
  refuse(R"({"type": "linear", "factor": 1e-300})", "factor");
  refuse(R"({"type": "linear", "factor": Infinity})", "\"rope_scaling.factor\" is Infinity, which is no number of JSON");
  refuse(R"({"type": "yarn", "factor": 4, "beta_fast": 8, "beta_slow": -1})", "beta_slow");
  refuse(R"({"type": "yarn", "factor": 4, "beta_fast": -1, "beta_slow": -2})", "beta_fast");
  refuse(R"({"type": "yarn", "factor": 4, "mscale": -10, "mscale_all_dim": 1})", "mscale");
  refuse(R"({"type": "yarn", "factor": 4, "attention_factor": -0.5})", "attention_factor");
  refuse(R"({"type": "yarn", "factor": 4, "attention_factor": NaN})", "attention_factor");
  refuse(R"({"type": "llama3", "factor": 8, "low_freq_factor": 0, "high_freq_factor": 4})", "low_freq_factor");
  refuse(R"({"type": "longrope", "short_factor": [1, 1, -1], "long_factor": [1, 1, 1]})", "short_factor");
  refuse(R"({"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 1, Infinity]})", "long_factor[2]");
  refuse(R"({"type": "longrope", "short_factor": [1], "long_factor": [1]})", "has 1 entries; 6 rotary dimensions need 3");
  refuse(R"({"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 1, 1], "factor": 4,
             "original_max_position_embeddings": 1})", "not finite");
  EXPECT_NO_THROW(read_model_config(with(tiny("llama"), "rope_scaling", Json::parse(
      R"({"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 2, 40.5], "original_max_position_embeddings": 16})",
      "rope")), "config.json"));
}

/// torch.nn.Embedding(V, H, padding_idx): from -V to V - 1.
TEST(Families, ANegativePaddingIdCountsFromTheEnd) {
  std::vector<std::string> notes;
  EXPECT_EQ(read_model_config(with(tiny("llama"), "pad_token_id", -1), "config.json", &notes).pad_token_id, 39);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("row 39"), std::string::npos) << notes[0];
  EXPECT_EQ(read_model_config(with(tiny("llama"), "pad_token_id", -40), "config.json").pad_token_id, 0);
  EXPECT_EQ(read_model_config(with(tiny("llama"), "pad_token_id", nullptr), "config.json", &notes).pad_token_id, -1);
  EXPECT_TRUE(notes.empty());
  expect_refused(with(tiny("llama"), "pad_token_id", -41), ErrorKind::corrupt_input, "pad_token_id");
}

std::vector<int64_t> windows(const Json& json) {
  return read_model_config(json, "config.json").sliding_window;
}

TEST(Families, SlidingWindows) {
  const auto layers = [](const char* type) { return with(tiny(type), "num_hidden_layers", 3); };
  const std::vector<int64_t> none = {0, 0, 0};
  EXPECT_EQ(windows(layers("llama")), none);
  EXPECT_EQ(windows(layers("mistral")), (std::vector<int64_t>{4096, 4096, 4096}));
  EXPECT_EQ(windows(with(layers("mistral"), "sliding_window", 8)), (std::vector<int64_t>{8, 8, 8}));
  EXPECT_EQ(windows(with(layers("mistral"), "sliding_window", nullptr)), none);
  EXPECT_EQ(windows(layers("mixtral")), none);
  expect_refused(with(layers("mistral"), "sliding_window", 0), ErrorKind::corrupt_input, "sliding_window");
  expect_refused(with(layers("mixtral"), "sliding_window", -1), ErrorKind::corrupt_input, "sliding_window");

  const Json qwen = with(with(layers("qwen2"), "sliding_window", 8), "max_window_layers", 1);
  EXPECT_EQ(windows(qwen), none) << "use_sliding_window is false";
  EXPECT_EQ(windows(with(qwen, "use_sliding_window", true)), (std::vector<int64_t>{0, 8, 8}));
  const Json types = Json::parse(R"(["sliding_attention", "full_attention", "full_attention"])", "types");
  EXPECT_EQ(windows(with(with(qwen, "use_sliding_window", true), "layer_types", types)), (std::vector<int64_t>{8, 0, 0}));
  expect_refused(with(qwen, "layer_types", types), ErrorKind::unsupported, "use_sliding_window");
}

}  // namespace
}  // namespace lemnos
