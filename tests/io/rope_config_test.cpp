#include "io/rope_config.h"

#include <gtest/gtest.h>

#include "io/test_files.h"

namespace lemnos {
namespace {

using test::expect_error;

/// `fields` beside max_position_embeddings 4096; unknown fields are refused, as a family does.
RopeConfig read(std::string_view fields, const RopeReadOptions& options = {},
                std::vector<std::string>* notes = nullptr) {
  ConfigReader config(Json::parse(format(R"({{"max_position_embeddings":4096{}{}}})",
                                         fields.empty() ? "" : ",", fields),
                                  "config.json"),
                      "config.json");
  const RopeConfig rope = read_rope_config(config, options);
  config.refuse_unknown();
  if (notes != nullptr) *notes = config.notes();
  return rope;
}

TEST(RopeConfig, ThetaInEverySpelling) {
  EXPECT_EQ(read("").theta, 10000.0);
  EXPECT_EQ(read("", {.default_theta = 1e6}).theta, 1e6);
  EXPECT_EQ(read(R"("rope_theta":500000)").theta, 500000.0);
  EXPECT_EQ(read(R"("rope_theta":5e5,"rope_scaling":null)").theta, 5e5);
  EXPECT_EQ(read(R"("rope_parameters":{"rope_theta":1000000.0})").theta, 1e6);
  EXPECT_EQ(
      read(R"("rope_parameters":{"rope_theta":1e6,"rope_type":"default"},"rope_scaling":null)")
          .theta,
      1e6);
  EXPECT_EQ(read(R"("rope_theta":7,"rope_parameters":{"rope_type":"default"})").theta, 7.0);
}

TEST(RopeConfig, OldAndNewSpellingAgree) {
  const RopeConfig linear = read(R"("rope_theta":5,"rope_scaling":{"type":"linear","factor":2})");
  EXPECT_EQ(linear.rope_type, "linear");
  EXPECT_EQ(linear.factor, 2.0);
  EXPECT_EQ(
      linear,
      read(R"("rope_theta":5,"rope_scaling":{"type":"linear","rope_type":"linear","factor":2.0})"));
  EXPECT_EQ(linear,
            read(R"("rope_parameters":{"rope_theta":5,"rope_type":"linear","factor":2.0})"));
}

TEST(RopeConfig, Llama3AndLengths) {
  const std::string_view inside =
      R"("rope_type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4)";
  const RopeConfig rope =
      read(format(R"("rope_scaling":{{{},"original_max_position_embeddings":512}})", inside));
  EXPECT_EQ(rope.original_max_position_embeddings, 512);
  EXPECT_EQ(rope.high_freq_factor, 4.0);
  EXPECT_EQ(read(format(R"("rope_scaling":{{{}}})", inside)).original_max_position_embeddings,
            4096);
  EXPECT_EQ(read(format(R"("original_max_position_embeddings":64,"rope_scaling":
      {{{},"original_max_position_embeddings":512}})",
                        inside))
                .original_max_position_embeddings,
            64);
}

TEST(RopeConfig, YarnFields) {
  const RopeConfig rope =
      read(R"("rope_scaling":{"type":"yarn","factor":4,"beta_fast":16,"mscale":0.7,
      "mscale_all_dim":0,"truncate":false,
      "original_max_position_embeddings":1024,"attention_factor":null})");
  EXPECT_EQ(rope.beta_fast, 16.0);
  EXPECT_EQ(rope.beta_slow, 1.0);
  EXPECT_EQ(rope.mscale, 0.7);
  EXPECT_FALSE(rope.mscale_all_dim.has_value());
  EXPECT_FALSE(rope.truncate);
  EXPECT_FALSE(read(R"("rope_scaling":{"type":"yarn","factor":null})").factor.has_value());
}

TEST(RopeConfig, OneSetForEachLayerType) {
  const std::string_view fields =
      R"("rope_parameters":{"full_attention":{"rope_theta":1e6,"rope_type":"linear",
      "factor":8},"sliding_attention":{"rope_theta":1e4,"rope_type":"default"}})";
  EXPECT_EQ(read(fields, {.layer_type = "full_attention"}).theta, 1e6);
  EXPECT_EQ(read(fields, {.layer_type = "sliding_attention"}).rope_type, "default");
  expect_error(ErrorKind::corrupt_input, {"rope_parameters", "layer type"}, [&] { read(fields); });
}

TEST(RopeConfig, RefusesMissingAndImpossibleFields) {
  const auto refuse = [](std::initializer_list<std::string_view> parts, std::string_view scaling) {
    expect_error(ErrorKind::corrupt_input, parts,
                 [&] { read(format(R"("rope_scaling":{{{}}})", scaling)); });
  };
  refuse({"rope_scaling", "\"factor\" is missing", "linear"}, R"("type":"linear")");
  refuse({"\"factor\" is null"}, R"("type":"dynamic","factor":null)");
  refuse({"\"factor\" is \"2\"", "a number"}, R"("type":"linear","factor":"2")");
  refuse({"\"factor\" is -1"}, R"("type":"linear","factor":-1)");
  refuse({"\"factor\" is missing", "yarn"}, R"("type":"yarn","beta_fast":3)");
  refuse({"low_freq_factor"}, R"("type":"llama3","factor":8,"high_freq_factor":4)");
  refuse({"high_freq_factor"},
         R"("type":"llama3","factor":8,"low_freq_factor":4,"high_freq_factor":4)");
  refuse({"long_factor"}, R"("type":"longrope","short_factor":[1])");
  refuse({"long_factor", "1 numbers"},
         R"("type":"longrope","short_factor":[1],"long_factor":[1,2])");
  refuse({"beta_fast"}, R"("type":"yarn","factor":2,"beta_fast":1,"beta_slow":3)");
  refuse({"\"rope_theta\" is 0", "a number from 1 to 1e+30"}, R"("type":"default","rope_theta":0)");
  expect_error(ErrorKind::corrupt_input, {"rope_scaling", "an object"},
               [] { read(R"("rope_scaling":"yarn")"); });
}

TEST(RopeConfig, RefusesWhatItDoesNotKnow) {
  expect_error(ErrorKind::unsupported, {"\"spiral\"", "llama3"},
               [] { read(R"("rope_scaling":{"rope_type":"spiral","factor":2})"); });
  const std::string_view unknown =
      R"("rope_scaling":{"type":"linear","factor":2,"mrope_section":[1,2]})";
  expect_error(ErrorKind::unsupported, {"mrope_section", "linear"}, [&] { read(unknown); });
  EXPECT_EQ(read(unknown, {.ignored_fields = {"mrope_section"}}).rope_type, "linear");
  EXPECT_EQ(read(R"("rope_scaling":{"type":"linear","factor":2,"other":null})").factor, 2.0);
}

TEST(RopeConfig, ContradictionsAreNotGuessed) {
  expect_error(ErrorKind::corrupt_input, {"contradict"}, [] {
    read(
        R"("rope_scaling":{"type":"linear","factor":2},
            "rope_parameters":{"rope_type":"linear","factor":4})");
  });
  std::vector<std::string> notes;
  EXPECT_EQ(read(R"("rope_theta":10000,"rope_parameters":{"rope_theta":5e5})", {}, &notes).theta,
            5e5);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("500000"), std::string::npos) << notes[0];
}

TEST(RopeConfig, PartialRotaryIsForFamiliesThatHaveIt) {
  expect_error(ErrorKind::unsupported, {"partial_rotary_factor", "0.5"},
               [] { read(R"("partial_rotary_factor":0.5)"); });
  EXPECT_EQ(read(R"("partial_rotary_factor":0.5)", {.partial_rotary = true}).partial_rotary_factor,
            0.5);
  EXPECT_EQ(read(R"("partial_rotary_factor":1.0)").partial_rotary_factor, 1.0);
  EXPECT_THROW(read(R"("partial_rotary_factor":1.5)", {.partial_rotary = true}), Error);
}

TEST(RopeConfig, WhatIsWrittenIsReadAgainInBothSpellings) {
  for (
      const char* fields :
      {R"("rope_theta":5e5)", R"("rope_scaling":{"type":"linear","factor":2.5})",
       R"("rope_scaling":{"type":"yarn","factor":null,"mscale":0.7,"mscale_all_dim":1.0,
            "truncate":false})",
       R"("rope_scaling":{"type":"longrope","short_factor":[1],"long_factor":[2.5],
            "attention_factor":1.1})",
       R"("rope_scaling":{"type":"llama3","factor":8,"low_freq_factor":1,"high_freq_factor":4})"}) {
    const RopeConfig rope = read(fields);
    Json written = Json::object();
    written.set("max_position_embeddings", 4096);
    write_rope_config(rope, written);
    for (const char* dropped : {"", "rope_scaling", "rope_parameters"}) {
      Json one = written;
      one.erase(dropped);
      ConfigReader config(one, "written");
      EXPECT_EQ(read_rope_config(config), rope) << fields << dropped;
    }
  }
}

}  // namespace
}  // namespace lemnos
