#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "io/file.h"
#include "io/temporary_dir.h"
#include "peft/adapter_config.h"

namespace lemnos {
namespace {

std::vector<ModuleInfo> modules_of(const char* type = "llama") {
  Json json = Json::parse(R"({"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24,
      "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
      "max_position_embeddings": 64, "hidden_act": "silu"})", "tiny");
  json.set("model_type", type);
  return outline(read_model_config(json, "config.json")).modules;
}

std::vector<std::string> names_of(const std::vector<ModuleInfo>& modules) {
  std::vector<std::string> names;
  for (const ModuleInfo& module : modules) names.push_back(module.name);
  return names;
}

using List = std::vector<std::string>;

List resolve(const TargetModules& targets) { return names_of(resolve_targets(targets, modules_of())); }

template <typename Action>
void expect_refused(ErrorKind kind, std::initializer_list<const char*> parts, Action action) {
  try {
    action();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const char* part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
  }
}

TEST(Targets, SuffixesWholeNamesAndPatterns) {
  const List q = {"model.layers.0.self_attn.q_proj", "model.layers.1.self_attn.q_proj"};
  EXPECT_EQ(resolve({List{"q_proj"}}), q);
  EXPECT_EQ(resolve({List{"self_attn.q_proj"}}), q);
  EXPECT_EQ(resolve({List{q[1]}}), List{q[1]});
  EXPECT_EQ(resolve({List{"q_proj", "self_attn.q_proj"}}), q) << "each module once";
  EXPECT_EQ(resolve({std::string(R"(.*\.1\..*q_proj)")}), List{q[1]});
  EXPECT_EQ(resolve({std::string("all-linear")}).size(), 14u);
  EXPECT_EQ(resolve({List{"v_proj", "q_proj"}})[0], q[0]) << "in the model's order";
}

TEST(Targets, AllLinearIsWrittenAsPeftSavesIt) {
  const TargetModules all{std::string("all-linear")};
  const std::vector<ModuleInfo> matched = resolve_targets(all, modules_of());
  const TargetModules list = expanded(all, matched);
  EXPECT_EQ(std::get<List>(list.spec), (List{"down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"}));
  EXPECT_EQ(resolve(list), names_of(matched));
  const TargetModules pattern{std::string(".*q_proj")};
  EXPECT_EQ(expanded(pattern, matched).spec, pattern.spec);
  EXPECT_EQ(expanded({List{"v_proj", "q_proj"}}, matched).spec, (TargetModules{List{"v_proj", "q_proj"}}.spec));
}

TEST(Targets, WhatMatchesNothingOrTheWrongThingIsRefused) {
  expect_refused(ErrorKind::usage, {"c_attn", "q_proj"}, [] { resolve({List{"q_proj", "c_attn"}}); });
  expect_refused(ErrorKind::usage, {"proj"}, [] { resolve({List{"proj"}}); });
  expect_refused(ErrorKind::usage, {"q_pro"}, [] { resolve({std::string("q_pro")}); });
  expect_refused(ErrorKind::usage, {"regular expression"}, [] { resolve({std::string("(q_proj")}); });
  expect_refused(ErrorKind::usage, {"empty"}, [] { resolve({List{}}); });
  expect_refused(ErrorKind::unsupported, {"lm_head"}, [] { resolve({List{"q_proj", "lm_head"}}); });
  expect_refused(ErrorKind::unsupported, {"embed_tokens"}, [] { resolve({List{"embed_tokens"}}); });
  expect_refused(ErrorKind::unsupported, {"experts"},
                 [] { resolve_targets({std::string("all-linear")}, modules_of("mixtral")); });
}

class AdapterFile : public testing::Test {
 protected:
  AdapterConfig read(const Json& json) {
    write_file_atomic(dir_.path() / "adapter_config.json", json.dump(2));
    return read_adapter_config(dir_.path() / "adapter_config.json");
  }
  TemporaryDir dir_{"lemnos-peft"};
};

TEST_F(AdapterFile, ComesBackAsWritten) {
  for (const TargetModules& targets : {TargetModules{List{"q_proj", "v_proj"}}, TargetModules{std::string(".*proj")}}) {
    const AdapterConfig config{{.r = 4, .lora_alpha = 12, .lora_dropout = 0.25, .target_modules = targets}, "base"};
    const Json json = adapter_config_json(config);
    EXPECT_TRUE(json.at("lora_alpha").is_integer());
    EXPECT_EQ(json.at("peft_type"), Json("LORA"));
    const AdapterConfig back = read(json);
    EXPECT_EQ(back.lora.r, 4);
    EXPECT_EQ(back.lora.scaling(), 3);
    EXPECT_EQ(back.lora.lora_dropout, 0.25);
    EXPECT_EQ(back.lora.target_modules.spec, targets.spec);
    EXPECT_EQ(back.base_model_name_or_path, "base");
  }
}

TEST_F(AdapterFile, WhatWouldChangeTheResultIsRefusedByName) {
  const Json plain = adapter_config_json({{.target_modules = {List{"q_proj"}}}, ""});
  const std::pair<const char*, const char*> asked[] = {
      {"use_dora", "true"},       {"use_rslora", "true"},        {"rank_pattern", R"({"q_proj": 2})"},
      {"bias", R"("all")"},       {"modules_to_save", R"(["lm_head"])"}, {"alpha_pattern", R"({"q_proj": 2})"},
      {"peft_type", R"("LOHA")"}, {"fan_in_fan_out", "true"},    {"a_later_key", "3"},
      {"layers_to_transform", "[0]"}};
  for (const auto& [key, value] : asked) {
    Json json = plain;
    json.set(key, Json::parse(value, key));
    expect_refused(ErrorKind::unsupported, {key}, [&] { read(json); });
  }
  Json harmless = plain;
  harmless.set("a_later_key", nullptr);
  harmless.set("modules_to_save", Json::array());
  EXPECT_NO_THROW(read(harmless));
  const std::pair<const char*, Json> out_of_range[] = {{"r", 0}, {"r", int64_t{1} << 40}, {"lora_alpha", 1e300}, {"lora_alpha", NAN},
                                                       {"lora_dropout", -0.1}, {"lora_dropout", 1.5}};
  for (const auto& [key, value] : out_of_range) {
    Json odd = plain;
    odd.set(key, value);
    expect_refused(ErrorKind::corrupt_input, {key}, [&] { read(odd); });
  }
}

TEST(InitialLoraA, IsAFunctionOfSeedAndModule) {
  const std::vector<float> a = initial_lora_a("one", 8, 64, 1);
  ASSERT_EQ(a.size(), 8u * 64u);
  EXPECT_EQ(a, initial_lora_a("one", 8, 64, 1));
  EXPECT_NE(a, initial_lora_a("two", 8, 64, 1));
  EXPECT_NE(a, initial_lora_a("one", 8, 64, 2));
  double sum = 0, squares = 0;
  for (const float x : a) {
    EXPECT_LE(std::abs(x), 1.0 / 8);
    sum += x;
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  EXPECT_NEAR(sum / 512, 0, 0.02);
  EXPECT_NEAR(squares / 512, 1.0 / 64 / 3, 1e-3) << "variance of uniform in +-1/sqrt(64)";
}

}  // namespace
}  // namespace lemnos
