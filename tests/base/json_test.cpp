#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "base/error.h"

namespace lemnos {
namespace {

TEST(Json, KeepsKeyOrderAndNumberKinds) {
  const std::string text = R"({"b":1,"a":1.5,"c":[true,null,"x"],"d":{"z":-2}})";
  const Json value = Json::parse(text, "test");
  EXPECT_TRUE(value.at("b").is_integer());
  EXPECT_FALSE(value.at("a").is_integer());
  EXPECT_EQ(value.dump(), text);
}

TEST(Json, ReadsPythonConstantsOutsideStringsOnly) {
  const Json value = Json::parse(R"({"x":[0.0,Infinity,-Infinity,NaN],"s":"NaN Infinity"})", "test");
  EXPECT_TRUE(std::isinf(value.at("x").as_array()[1].as_number()));
  EXPECT_LT(value.at("x").as_array()[2].as_number(), 0);
  EXPECT_TRUE(std::isnan(value.at("x").as_array()[3].as_number()));
  EXPECT_EQ(value.at("s").as_string(), "NaN Infinity");
}

TEST(Json, RefusesWhatIsBroken) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "1 2", "\"\xff\"", "{a:1}"})
    EXPECT_THROW(Json::parse(text, "test"), Error) << text;
  EXPECT_THROW(Json::parse(std::string(100000, '['), "test"), Error);
}

std::string error_of(std::string_view text) {
  try {
    Json::parse(text, "a.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
    return error.what();
  }
  ADD_FAILURE() << "accepted " << text;
  return "";
}

TEST(Json, ErrorsSayWhereAndWhatInOurWords) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"a\": }", "a.json: not valid JSON at column 7: unexpected '}'"},
      {"{\n  \"a\": 1,\n  b: 2}", "a.json: not valid JSON at line 3, column 3: invalid literal"},
      {"{\"a\": NaN, \"b\": NaN, oops}", "at column 22: invalid literal"},
      {"{\"a\": Infinity,\n \"b\": [1,, 2]}", "at line 2, column 10: unexpected ','"},
      {"[1e999]", "at column 6: number overflow"},
      {"[1, 2", "at column 6: unexpected end of input"},
      {"[1, 2\n", "at line 2, column 1: unexpected end of input"},
      {"{} {}", "at column 4: unexpected '{'; expected end of input"},
      {"\"\xff\"", "at column 2: invalid string: ill-formed UTF-8 byte"},
      {"", "a.json: empty, expected JSON"},
      {" \n", "a.json: empty, expected JSON"}};
  for (const auto& [text, message] : cases) {
    const std::string said = error_of(text);
    EXPECT_NE(said.find(message), std::string::npos) << said;
    EXPECT_EQ(said.find("exception"), std::string::npos) << said;
    EXPECT_EQ(said.find("parse"), std::string::npos) << said;
  }
  EXPECT_LT(error_of("[\"" + std::string(5000, 'x')).size(), 300u) << "an open string is not quoted whole";
}

TEST(Json, WhatComesOutOfATemporaryStaysValid) {
  const auto made = [] { return Json::parse(R"({"list":["a long enough string to be on the heap", "b"]})", "test"); };
  static_assert(!std::is_reference_v<decltype(made().at("list"))>);
  static_assert(!std::is_reference_v<decltype(made().as_object())>);
  static_assert(!std::is_reference_v<decltype(made().at("list").as_array())>);
  static_assert(!std::is_reference_v<decltype(Json("x").as_string())>);
  std::string all;
  for (const auto& [key, value] : made().as_object()) all += key;
  for (const Json& item : made().at("list").as_array()) all += item.as_string();
  EXPECT_EQ(all, "lista long enough string to be on the heapb");
}

TEST(Json, RealsRoundTrip) {
  const double number = 0.1 + 0.2;
  EXPECT_EQ(Json::parse(Json(number).dump(), "test").as_number(), number);
}

}  // namespace
}  // namespace lemnos
