#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>

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

TEST(Json, RealsRoundTrip) {
  const double number = 0.1 + 0.2;
  EXPECT_EQ(Json::parse(Json(number).dump(), "test").as_number(), number);
}

}  // namespace
}  // namespace lemnos
