#include "doctor/math_check.h"

#include <gtest/gtest.h>

#include "support/device.h"

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

}  // namespace
}  // namespace lemnos::doctor
