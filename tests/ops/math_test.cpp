// Errors of the functions: tests/doctor/math_check_test.cpp.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/kernel_call.h"
#include "ops/glsl/math_probe.params.h"
#include "support/device.h"
#include "vk/queue.h"
#include "vk/transfer.h"

namespace lemnos::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Math : public DeviceTest {
 protected:
  std::vector<float> run(MathFunction function, const std::vector<float>& x,
                         std::vector<float> y = {}) {
    y.resize(x.size(), 1.0f);
    const uint64_t bytes = 4 * x.size();
    vk::Buffer dx(device(), bytes, vk::MemoryKind::device, "x");
    vk::Buffer dy(device(), bytes, vk::MemoryKind::device, "y");
    vk::Buffer dz(device(), bytes, vk::MemoryKind::device, "z");
    vk::Transfer transfer(device());
    transfer.upload(vk::bytes_of(x), dx);
    transfer.upload(vk::bytes_of(y), dy);
    const auto address = [](const vk::Buffer& buffer) {
      return uvec2{static_cast<uint32_t>(buffer.address()),
                   static_cast<uint32_t>(buffer.address() >> 32)};
    };
    const MathProbeParams params{address(dx), address(dy), address(dz),
                                 static_cast<uint32_t>(x.size())};
    vk::CommandBuffer commands(device());
    commands.dispatch(pipelines().get({"math_probe", {static_cast<uint32_t>(function)}, 0}),
                      std::as_bytes(std::span(&params, 1)), flat_groups(params.count, 64));
    commands.finish();
    device().queue().submit(commands);
    std::vector<float> z(x.size());
    transfer.download(dz, 0, vk::writable_bytes_of(z));
    return z;
  }

  float one(MathFunction function, float x, float y = 1.0f) { return run(function, {x}, {y})[0]; }
};

/// Floats spread evenly over [low, high], their last bits irregular.
std::vector<float> spread(double low, double high, size_t count) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = static_cast<float>(low + (high - low) * (static_cast<double>(i) + 0.37) /
                                        static_cast<double>(count));
  return x;
}

/// Floats whose bit patterns are spread evenly: every exponent alike.
std::vector<float> spread_bits(float low, float high, size_t count) {
  const double first = std::bit_cast<uint32_t>(low), last = std::bit_cast<uint32_t>(high);
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = std::bit_cast<float>(static_cast<uint32_t>(
        first + (last - first) * static_cast<double>(i) / static_cast<double>(count)));
  return x;
}

constexpr size_t kSamples = 1 << 20;

TEST_F(Math, DivisionIsCorrectlyRounded) {
  const std::vector<float> x = spread_bits(1e-18f, 1e18f, kSamples),
                           y = spread(-3, 5, kSamples);
  const std::vector<float> z = run(MathFunction::div, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const float exact = static_cast<float>(static_cast<double>(x[i]) / static_cast<double>(y[i]));
    ASSERT_EQ(z[i], exact) << x[i] << " / " << y[i];
  }
}

TEST_F(Math, SpecialValues) {
  using enum MathFunction;
  EXPECT_EQ(one(MathFunction::exp, 0), 1);
  EXPECT_EQ(one(MathFunction::exp, 89), kInf);
  EXPECT_EQ(one(MathFunction::exp, kInf), kInf);
  EXPECT_EQ(one(MathFunction::exp, -110), 0);
  EXPECT_EQ(one(MathFunction::exp, -1e30f), 0);
  EXPECT_EQ(one(MathFunction::exp, -kInf), 0);
  EXPECT_TRUE(std::isnan(one(MathFunction::exp, kNan)));
  EXPECT_EQ(one(MathFunction::exp, 1e-40f), 1);

  EXPECT_EQ(one(MathFunction::log, 1), 0);
  EXPECT_EQ(one(MathFunction::log, 0), -kInf);
  EXPECT_EQ(one(MathFunction::log, -0.0f), -kInf);
  EXPECT_EQ(one(MathFunction::log, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(MathFunction::log, -1)));
  EXPECT_TRUE(std::isnan(one(MathFunction::log, -kInf)));
  EXPECT_TRUE(std::isnan(one(MathFunction::log, kNan)));
  EXPECT_NEAR(one(MathFunction::log, 1e-40f), std::log(static_cast<double>(1e-40f)), 1e-5);

  EXPECT_EQ(one(MathFunction::tanh, 0), 0);
  EXPECT_EQ(one(MathFunction::tanh, 100), 1);
  EXPECT_EQ(one(MathFunction::tanh, -kInf), -1);
  EXPECT_TRUE(std::isnan(one(MathFunction::tanh, kNan)));

  EXPECT_EQ(one(sigmoid, 0), 0.5f);
  EXPECT_EQ(one(sigmoid, kInf), 1);
  EXPECT_EQ(one(sigmoid, -kInf), 0);
  EXPECT_TRUE(std::isnan(one(sigmoid, kNan)));
  EXPECT_EQ(one(silu, 0), 0);
  EXPECT_EQ(one(silu, kInf), kInf);
  EXPECT_EQ(one(silu, -1e4f), 0);

  EXPECT_EQ(one(rsqrt, 0), kInf);
  EXPECT_EQ(one(rsqrt, kInf), 0);
  EXPECT_TRUE(std::isnan(one(rsqrt, -1)));
  EXPECT_EQ(one(rsqrt, 0.25f), 2);
  EXPECT_EQ(one(MathFunction::sqrt, 0), 0);
  EXPECT_EQ(one(MathFunction::sqrt, kInf), kInf);
  EXPECT_TRUE(std::isnan(one(MathFunction::sqrt, -1)));
  EXPECT_EQ(one(MathFunction::sqrt, 2.25f), 1.5f);

  EXPECT_EQ(one(MathFunction::div, 1, 0), kInf);
  EXPECT_EQ(one(MathFunction::div, -1, kInf), 0);
  EXPECT_EQ(one(MathFunction::div, 3e38f, 1e-3f), kInf);
  EXPECT_EQ(one(MathFunction::div, -2e-38f, 3e38f), 0);
  EXPECT_EQ(one(MathFunction::div, 3e38f, 3e38f), 1);
  EXPECT_TRUE(std::isnan(one(MathFunction::div, 0, 0)));
  EXPECT_TRUE(std::isnan(one(MathFunction::div, kNan, 1)));
}

}  // namespace
}  // namespace lemnos::test
