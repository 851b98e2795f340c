#include "doctor/math_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "support/device.h"
#include "vk/shaders.h"

namespace lemnos::doctor {
namespace {

class MathCheck : public test::DeviceTest {};

TEST_F(MathCheck, EveryFunctionIsWithinItsBoundAndMeasured) {
  const std::vector<FunctionError> functions = check_functions(device(), pipelines());
  EXPECT_EQ(functions.size(), 10u);
  for (const FunctionError& f : functions) {
    EXPECT_TRUE(f.ok()) << f.name << ": " << f.worst << " " << f.unit << " at " << f.at;
    EXPECT_GT(f.worst, f.bound / 4) << f.name;  // a probe that returns the exact value measures nothing
  }
}

TEST_F(MathCheck, AConstantWithFourDigitsIsFound) {
  // The cubic term of the exponential. Parity of a tiny model does not see it (negative_controls_test.cpp).
  const auto all = vk::shaders();
  const auto probe = std::ranges::find_if(all, [](const vk::Shader& shader) { return shader.name == "math_probe"; });
  ASSERT_NE(probe, all.end());
  std::vector<uint32_t> words(probe->words.begin(), probe->words.end());
  const auto right = std::bit_cast<uint32_t>(0.166666672f), wrong = std::bit_cast<uint32_t>(0.1667f);
  ASSERT_NE(std::ranges::count(words, right), 0);
  std::ranges::replace(words, right, wrong);
  vk::PipelineCache damaged(device(), {{"math_probe", words}});
  const std::vector<FunctionError> functions = check_functions(device(), damaged);
  const auto exp = std::ranges::find(functions, "exp", &FunctionError::name);
  ASSERT_NE(exp, functions.end());
  EXPECT_FALSE(exp->ok()) << exp->worst;
}

}  // namespace
}  // namespace lemnos::doctor
