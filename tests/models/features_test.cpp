#include "models/features.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/feature_fields.h"
#include "support/toy_engine.h"

namespace lemnos {
namespace {

using Names = std::vector<std::string>;

Names features(const char* type, const char* more = "{}") { return features_of(test::toy_model(type, more)); }

bool has(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

TEST(Features, OfALlama) {
  EXPECT_EQ(features("llama"), (Names{"attention:mqa", "rope:default", "rope_keys:legacy", "untied_embeddings"}));
  EXPECT_EQ(features("llama", R"({"tie_word_embeddings": true, "pad_token_id": 3, "attention_bias": true, "mlp_bias": true,
                                  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
                                  "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}})"),
            (Names{"attention:gqa", "attention_bias", "head_dim", "mlp_bias", "pad_token", "rope:linear", "rope_keys:new", "tied_embeddings"}));
}

TEST(Features, SizesAreNone) {
  EXPECT_EQ(features("llama"), features("llama", R"({"hidden_size": 64, "intermediate_size": 99, "vocab_size": 999,
      "num_hidden_layers": 7, "rms_norm_eps": 1e-6, "rope_theta": 5e5, "max_position_embeddings": 999})"));
}

/// Of the only feature that begins so.
std::string fields(const char* type, const char* more, const std::string& start) {
  const ModelConfig config = test::toy_model(type, more);
  for (const std::string& feature : features_of(config))
    if (feature.starts_with(start)) return fields_behind(config, feature);
  return "no such feature";
}

TEST(Features, ComeFromFields) {
  EXPECT_EQ(fields("llama", R"({"pad_token_id": 3})", "pad_token"), "pad_token_id = 3");
  EXPECT_EQ(fields("llama", R"({"attention_bias": true})", "attention_bias"), "attention_bias = true");
  EXPECT_EQ(fields("qwen2", "{}", "qkv_bias"), "") << "the family's own";
  EXPECT_EQ(fields("qwen3", "{}", "q_norm"), "");
  EXPECT_EQ(fields("llama", R"({"num_attention_heads": 4, "num_key_value_heads": 2})", "attention:"),
            "num_attention_heads = 4, num_key_value_heads = 2");
  EXPECT_EQ(fields("mixtral", R"({"num_local_experts": 4, "num_experts_per_tok": 4})", "moe:"), "num_local_experts = 4, num_experts_per_tok = 4");
  EXPECT_EQ(fields("mistral", R"({"sliding_window": 8})", "sliding_window"), "sliding_window = 8");
  constexpr const char* kYarn = R"({"rope_scaling": {"type": "yarn", "factor": 4.0, "truncate": false}})";
  EXPECT_EQ(fields("llama", kYarn, "rope:yarn_not"), "rope_scaling.truncate = false");
  EXPECT_EQ(fields("llama", R"({"rope_scaling": {"type": "linear", "factor": 4.0}})", "rope:"), "rope_scaling.type = \"linear\"");
  EXPECT_EQ(fields("llama", kYarn, "rope_keys:"), "rope_scaling = {...}");
}

TEST(Features, OfHeads) {
  EXPECT_TRUE(has(features("llama", R"({"num_key_value_heads": 2})"), "attention:mha"));
  EXPECT_TRUE(has(features("llama", R"({"num_attention_heads": 1, "head_dim": 16})"), "attention:mha"));
}

TEST(Features, OfYarnsBranches) {
  const auto yarn = [](const std::string& more) {
    return features("llama", (R"({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0)" + more + "}}").c_str());
  };
  EXPECT_EQ(yarn(""), (Names{"attention:mqa", "rope:yarn", "rope_keys:new", "untied_embeddings"}));
  EXPECT_TRUE(has(yarn(R"(, "attention_factor": 0.9)"), "rope:yarn_attention_factor"));
  EXPECT_TRUE(has(yarn(R"(, "mscale": 1.0, "mscale_all_dim": 0.8)"), "rope:yarn_mscale"));
  EXPECT_FALSE(has(yarn(R"(, "mscale": 1.0)"), "rope:yarn_mscale")) << "one of the two changes nothing";
  EXPECT_TRUE(has(yarn(R"(, "truncate": false)"), "rope:yarn_not_truncated"));
}

TEST(Features, OfWindows) {
  EXPECT_TRUE(has(features("mistral", R"({"sliding_window": 8})"), "sliding_window"));
  EXPECT_FALSE(has(features("mistral", R"({"sliding_window": null})"), "sliding_window"));
  const Names by_rule = features("qwen2", R"({"use_sliding_window": true, "sliding_window": 8, "max_window_layers": 1})");
  EXPECT_TRUE(has(by_rule, "layer_types:mixed"));
  EXPECT_TRUE(has(by_rule, "layer_types:from_max_window_layers"));
  const Names listed = features("qwen2", R"({"use_sliding_window": true, "sliding_window": 8,
      "layer_types": ["sliding_attention", "full_attention"]})");
  EXPECT_TRUE(has(listed, "layer_types:mixed"));
  EXPECT_FALSE(has(listed, "layer_types:from_max_window_layers"));
  EXPECT_FALSE(has(features("qwen2"), "sliding_window"));
}

TEST(Features, OfFamiliesThemselves) {
  EXPECT_TRUE(has(features("qwen2"), "qkv_bias"));
  EXPECT_TRUE(has(features("qwen3"), "q_norm"));
  EXPECT_TRUE(has(features("mixtral", R"({"num_local_experts": 4, "num_experts_per_tok": 2})"), "moe:top_k"));
  EXPECT_TRUE(has(features("mixtral", R"({"num_local_experts": 4, "num_experts_per_tok": 4})"), "moe:all_experts"));
}

TEST(Features, PairsOnlyWhereBothAreInPlay) {
  const auto pairs = [](const char* more) { return interacting_features(test::toy_model("llama", more)); };
  EXPECT_TRUE(pairs(R"({"tie_word_embeddings": true})").empty());
  EXPECT_EQ(pairs(R"({"tie_word_embeddings": true, "pad_token_id": 3})"),
            (std::vector<FeaturePair>{{"tied_embeddings", "pad_token"}}));
}

}  // namespace
}  // namespace lemnos
