#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
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

double ulp_of(double exact) {
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double ulps = 0;
  float at = 0;
};

Worst largest_error(const std::vector<float>& x, const std::vector<float>& z,
                    const std::function<double(double)>& exact) {
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i) {
    const double truth = exact(static_cast<double>(x[i]));
    const double ulps = std::abs(static_cast<double>(z[i]) - truth) / ulp_of(truth);
    if (!(ulps <= worst.ulps)) worst = {ulps, x[i]};
  }
  return worst;
}

constexpr size_t kSamples = 1 << 19;  // per range; two or three ranges per function

TEST_F(Math, ErrorBounds) {
  struct Case {
    const char* name;
    MathFunction function;
    double bound;
    std::function<double(double)> exact;
    std::vector<std::vector<float>> samples;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto both_signs = [](std::vector<float> x) {
    for (size_t i = 1; i < x.size(); i += 2) x[i] = -x[i];
    return x;
  };
  const std::vector<Case> cases{
      {"exp",
       MathFunction::exp,
       1.0,
       [](double x) { return std::exp(x); },
       {spread(-87.3, 88.7, kSamples), spread(-10, 1, kSamples),
        both_signs(spread_bits(1e-30f, 80.0f, kSamples))}},
      {"log",
       MathFunction::log,
       0.9,
       [](double x) { return std::log(x); },
       {spread_bits(1e-45f, 3.4e38f, kSamples), spread(0.5, 2, kSamples),
        spread(0.99, 1.01, kSamples)}},
      {"tanh",
       MathFunction::tanh,
       1.5,
       [](double x) { return std::tanh(x); },
       {spread(-10, 10, kSamples), spread(-1, 1, kSamples),
        both_signs(spread_bits(2e-38f, 1.0f, kSamples))}},
      {"sigmoid",
       MathFunction::sigmoid,
       2.5,
       sigmoid,
       {spread(-87, 30, kSamples), spread(-4, 4, kSamples)}},
      {"silu",
       MathFunction::silu,
       2.5,
       [&](double x) { return x * sigmoid(x); },
       {spread(-85, 100, kSamples), spread(-4, 4, kSamples),
        both_signs(spread_bits(1e-30f, 80.0f, kSamples))}},
      {"rsqrt",
       MathFunction::rsqrt,
       0.51,
       [](double x) { return 1 / std::sqrt(x); },
       {spread_bits(1.2e-38f, 3.4e38f, kSamples), spread(1, 4, kSamples)}},
      {"sqrt",
       MathFunction::sqrt,
       0.51,
       [](double x) { return std::sqrt(x); },
       {spread_bits(1.2e-38f, 3.4e38f, kSamples), spread(1, 4, kSamples)}},
  };
  for (const Case& c : cases)
    for (const std::vector<float>& x : c.samples) {
      const Worst worst = largest_error(x, run(c.function, x), c.exact);
      EXPECT_LE(worst.ulps, c.bound) << c.name << " of " << worst.at;
      RecordProperty(c.name, std::to_string(worst.ulps));
    }
}

TEST_F(Math, DivisionIsCorrectlyRounded) {
  const std::vector<float> x = spread_bits(1e-18f, 1e18f, 2 * kSamples),
                           y = spread(-3, 5, 2 * kSamples);
  const std::vector<float> z = run(MathFunction::div, x, y);
  for (size_t i = 0; i < x.size(); ++i) {
    const float exact = static_cast<float>(static_cast<double>(x[i]) / static_cast<double>(y[i]));
    ASSERT_EQ(z[i], exact) << x[i] << " / " << y[i];
  }
}

TEST_F(Math, SinesOfModerateAngles) {
  for (const double most : {3.2, 100.0, 4096.0}) {
    const std::vector<float> x = spread(-most, most, kSamples);
    const std::vector<float> sines = run(MathFunction::sin, x), cosines = run(MathFunction::cos, x);
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto angle = static_cast<double>(x[i]);
      worst = std::max({worst, std::abs(static_cast<double>(sines[i]) - std::sin(angle)),
                        std::abs(static_cast<double>(cosines[i]) - std::cos(angle))});
    }
    EXPECT_LE(worst, 1e-7) << most;
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
