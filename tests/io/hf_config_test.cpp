#include "io/hf_config.h"

#include <gtest/gtest.h>

#include "io/test_files.h"

namespace lemnos {
namespace {

using test::expect_error;

ConfigReader reader(std::string_view text) {
  return ConfigReader(Json::parse(text, "config.json"), "config.json");
}

TEST(ConfigReader, ReadsTypedFields) {
  ConfigReader config =
      reader(R"({"i":3,"d":1e-6,"whole":2,"b":true,"s":"silu","list":[1,2],"reals":[1,0.5],
                                   "names":["a"],"eos":[2,3],"one":4,"nothing":null})");
  EXPECT_EQ(config.get_int("i"), 3);
  EXPECT_EQ(config.get_double("d"), 1e-6);
  EXPECT_EQ(config.get_double("whole"), 2.0);
  EXPECT_TRUE(config.get_bool("b"));
  EXPECT_EQ(config.get_string("s"), "silu");
  EXPECT_EQ(config.get_ints("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(config.get_doubles("reals"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(config.get_strings("names"), (std::vector<std::string>{"a"}));
  EXPECT_EQ(config.find_int_or_ints("eos"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(config.find_int_or_ints("one"), (std::vector<int64_t>{4}));
  EXPECT_TRUE(config.find_int_or_ints("nothing").empty());
  config.refuse_unknown();
  EXPECT_TRUE(config.notes().empty());
}

TEST(ConfigReader, NullIsAbsent) {
  ConfigReader config = reader(R"({"head_dim":null})");
  EXPECT_EQ(config.get_int_or("head_dim", 64), 64);
  EXPECT_FALSE(config.find_section("rope_scaling").has_value());
  EXPECT_FALSE(config.has("head_dim"));
  expect_error(ErrorKind::corrupt_input, {"config.json", "\"head_dim\" is null", "required"},
               [&] { config.get_int("head_dim"); });
}

TEST(ConfigReader, ErrorsNameFieldFoundAndExpected) {
  ConfigReader config = reader(R"({"hidden_size":64.5,"flag":1,"list":[1,"x"],"act":5,"n":true})");
  const auto refuse = [](std::initializer_list<std::string_view> parts, auto action) {
    expect_error(ErrorKind::corrupt_input, parts, action);
  };
  refuse({"config.json", "\"hidden_size\" is 64.5", "an integer"},
         [&] { config.get_int("hidden_size"); });
  refuse({"\"flag\" is 1", "true or false"}, [&] { config.get_bool("flag"); });
  refuse({"\"list\" is [1,\"x\"]", "an integer"}, [&] { config.get_ints("list"); });
  refuse({"\"act\" is 5", "a string"}, [&] { config.get_string("act"); });
  refuse({"\"n\" is true", "an integer"}, [&] { config.get_int("n"); });
  refuse({"\"absent\" is missing"}, [&] { config.get_string("absent"); });
  refuse({"a JSON object"}, [] { reader("[]"); });
}

TEST(ConfigReader, NumbersThatJsonDoesNotHaveAreNamed) {
  const auto refuse = [](std::string_view json, std::string_view what) {
    expect_error(ErrorKind::corrupt_input, {"config.json", what, "no number of JSON; expected a finite number"}, [&] { reader(json); });
  };
  refuse(R"({"rope_theta": Infinity})", "\"rope_theta\" is Infinity");
  refuse(R"({"a": 1, "rms_norm_eps": NaN})", "\"rms_norm_eps\" is NaN");
  refuse(R"({"rope_scaling": {"long_factor": [1.0, -Infinity]}})", "\"rope_scaling.long_factor[1]\" is -Infinity");
}

TEST(ConfigReader, RangesAreNamed) {
  const ConfigReader config = reader(R"({"eps": -1, "heads": 9})");
  config.check_range("eps", 0.5, 0, 1);
  expect_error(ErrorKind::corrupt_input, {"\"eps\" is -1, expected a number from 1e-30 to 1"}, [&] { config.check_range("eps", -1.0, 1e-30, 1); });
  expect_error(ErrorKind::corrupt_input, {"\"heads\" is 9, expected an integer from 1 to 8"},
               [&] { config.check_range("heads", int64_t{9}, 1, 8); });
}

TEST(ConfigReader, UnknownFieldsWithRealValuesAreRefusedTogether) {
  ConfigReader config = reader(R"({"hidden_size":8,"qk_norm_scale":2.0,"sinks":[1]})");
  config.get_int("hidden_size");
  expect_error(ErrorKind::unsupported, {"config.json", "\"qk_norm_scale\" = 2", "\"sinks\" = [1]"},
               [&] { config.refuse_unknown(); });
}

TEST(ConfigReader, UnknownFieldsThatAreOffAreNoted) {
  ConfigReader config = reader(R"({"new_thing":null,"other":false,"embd_pdrop":0.0,"list":[]})");
  config.refuse_unknown();
  ASSERT_EQ(config.notes().size(), 4u);
  EXPECT_NE(config.notes()[0].find("new_thing"), std::string::npos);
}

TEST(ConfigReader, ZeroIsARealValueUnlessItIsADropout) {
  ConfigReader config = reader(R"({"first_k_dense_replace":0})");
  EXPECT_THROW(config.refuse_unknown(), Error);
}

/// The fields that Transformers 5 and 4 write for every model.
TEST(ConfigReader, GenericFieldsAreHarmless) {
  ConfigReader config = reader(R"({
    "_name_or_path": "x", "architectures": ["LlamaForCausalLM"], "bos_token_id": 1,
    "eos_token_id": [2, 3],
    "pad_token_id": null, "chunk_size_feed_forward": 0, "dtype": "bfloat16",
    "torch_dtype": "float16",
    "id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}, "initializer_range": 0.02,
    "is_decoder": false,
    "is_encoder_decoder": false, "model_type": "llama", "output_attentions": false,
    "output_hidden_states": false, "pretraining_tp": 1, "problem_type": null, "return_dict": true,
    "transformers_version": "5.17.0", "use_cache": true, "temperature": 1.0, "top_k": 50,
    "max_length": 20,
    "cross_attention_hidden_size": null, "add_cross_attention": false, "tie_encoder_decoder": false,
    "pruned_heads": {}, "quantization_config": null, "task_specific_params": null})");
  config.refuse_unknown();
  EXPECT_TRUE(config.notes().empty());
}

TEST(ConfigReader, GenericFieldsThatChangeTheModelAreRefused) {
  for (const char* text :
       {R"({"is_decoder":true})", R"({"add_cross_attention":true})", R"({"pretraining_tp":2})",
        R"({"chunk_size_feed_forward":64})", R"({"quantization_config":{"bits":4}})",
        R"({"is_encoder_decoder":true})", R"({"per_layer_config":{"0":{"hidden_size":2}}})"})
    EXPECT_THROW(reader(text).refuse_unknown(), Error) << text;
}

TEST(ConfigReader, ExpectRefusesOtherValues) {
  ConfigReader config = reader(R"({"attention_dropout":0.1,"scale":1,"absent":null})");
  config.expect("scale", 1.0);
  config.expect("absent", "x");
  config.expect("not_there", true);
  expect_error(ErrorKind::unsupported, {"\"attention_dropout\" is 0.1", "only 0.0"},
               [&] { config.expect("attention_dropout", 0.0); });
}

TEST(ConfigReader, SectionsHaveFieldsOfTheirOwn) {
  ConfigReader config = reader(R"({"text_config":{"hidden_size":4,"odd":1}})");
  ConfigReader text = config.get_section("text_config");
  EXPECT_EQ(text.get_int("hidden_size"), 4);
  config.refuse_unknown();
  expect_error(ErrorKind::unsupported, {"config.json: text_config", "\"odd\""},
               [&] { text.refuse_unknown(); });
}

TEST(ConfigReader, BrokenFiles) {
  const test::TempFolder folder;
  test::write_text(folder / "config.json", "{");
  expect_error(ErrorKind::corrupt_input, {"config.json"},
               [&] { ConfigReader::open(folder / "config.json"); });
  expect_error(ErrorKind::io, {"none.json"}, [&] { ConfigReader::open(folder / "none.json"); });
}

}  // namespace
}  // namespace lemnos
