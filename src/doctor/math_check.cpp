#include "doctor/math_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "graph/kernel_call.h"
#include "ops/glsl/math_probe.params.h"
#include "vk/buffer.h"
#include "vk/queue.h"
#include "vk/recorder.h"
#include "vk/transfer.h"

namespace lemnos::doctor {
namespace {

constexpr size_t kSamples = 1 << 19;

struct Range {
  float low, high;
  bool by_bits = false;     // every exponent alike
  bool both_signs = false;  // every second sample negative
};

std::vector<float> samples_of(const Range& range) {
  std::vector<float> x(kSamples);
  const double first = std::bit_cast<uint32_t>(range.low), last = std::bit_cast<uint32_t>(range.high);
  for (size_t i = 0; i < kSamples; ++i) {
    const double part = (static_cast<double>(i) + 0.37) / static_cast<double>(kSamples);
    x[i] = range.by_bits ? std::bit_cast<float>(static_cast<uint32_t>(first + (last - first) * part))
                         : static_cast<float>(range.low + (static_cast<double>(range.high) - range.low) * part);
    if (range.both_signs && i % 2 == 1) x[i] = -x[i];
  }
  return x;
}

struct Function {
  const char* name;
  MathFunction function;
  double bound;
  bool absolute;  // else in ulp
  std::function<double(double x, double y)> exact;
  std::vector<Range> ranges;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Bounds and ranges as in docs/numerics.md.
std::vector<Function> functions() {
  const std::vector<Range> positive{{1.2e-38f, 3.4e38f, true}, {1, 4}};
  const std::vector<Range> angles{{-3.2f, 3.2f}, {-100, 100}, {-4096, 4096}};
  return {
      {"exp", MathFunction::exp, 1.0, false, [](double x, double) { return std::exp(x); },
       {{-87.3f, 88.7f}, {-10, 1}, {1e-30f, 80.0f, true, true}}},
      {"log", MathFunction::log, 0.9, false, [](double x, double) { return std::log(x); },
       {{1e-45f, 3.4e38f, true}, {0.5f, 2}, {0.99f, 1.01f}}},
      {"tanh", MathFunction::tanh, 1.5, false, [](double x, double) { return std::tanh(x); },
       {{-10, 10}, {-1, 1}, {2e-38f, 1.0f, true, true}}},
      {"sigmoid", MathFunction::sigmoid, 2.5, false, [](double x, double) { return sigmoid(x); }, {{-87, 30}, {-4, 4}}},
      {"silu", MathFunction::silu, 2.5, false, [](double x, double) { return x * sigmoid(x); },
       {{-85, 100}, {-4, 4}, {1e-30f, 80.0f, true, true}}},
      {"1/sqrt", MathFunction::rsqrt, 0.51, false, [](double x, double) { return 1 / std::sqrt(x); }, positive},
      {"sqrt", MathFunction::sqrt, 0.51, false, [](double x, double) { return std::sqrt(x); }, positive},
      {"division", MathFunction::div, 0.5, false, [](double x, double y) { return x / y; }, {{1e-18f, 1e18f, true}}},
      {"sin", MathFunction::sin, 1e-7, true, [](double x, double) { return std::sin(x); }, angles},
      {"cos", MathFunction::cos, 1e-7, true, [](double x, double) { return std::cos(x); }, angles},
  };
}

double ulp_of(double exact) { return std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23); }

class Probe {
 public:
  Probe(vk::Device& device, vk::PipelineCache& pipelines) : device_(device), pipelines_(pipelines), transfer_(device) {}

  std::vector<float> run(MathFunction function, const std::vector<float>& x, const std::vector<float>& y) {
    transfer_.upload(vk::bytes_of(x), x_);
    transfer_.upload(vk::bytes_of(y), y_);
    const auto address = [](const vk::Buffer& buffer) {
      return uvec2{static_cast<uint32_t>(buffer.address()), static_cast<uint32_t>(buffer.address() >> 32)};
    };
    const MathProbeParams params{address(x_), address(y_), address(z_), static_cast<uint32_t>(x.size())};
    vk::CommandBuffer commands(device_);
    commands.dispatch(pipelines_.get({"math_probe", {static_cast<uint32_t>(function)}, 0}), std::as_bytes(std::span(&params, 1)),
                      flat_groups(params.count, 64));
    commands.finish();
    device_.queue().wait(device_.queue().submit(commands));
    std::vector<float> z(x.size());
    transfer_.download(z_, 0, vk::writable_bytes_of(z));
    return z;
  }

 private:
  vk::Buffer make() { return {device_, 4 * kSamples, vk::MemoryKind::device, "the check of elementary functions"}; }
  vk::Device& device_;
  vk::PipelineCache& pipelines_;
  vk::Transfer transfer_;
  vk::Buffer x_ = make(), y_ = make(), z_ = make();
};

}  // namespace

std::vector<FunctionError> check_functions(vk::Device& device, vk::PipelineCache& pipelines) {
  Probe probe(device, pipelines);
  const std::vector<float> divisors = samples_of({-3, 5});
  std::vector<FunctionError> errors;
  for (const Function& f : functions()) {
    FunctionError error{.name = f.name, .unit = f.absolute ? "absolute" : "ulp", .bound = f.bound};
    for (const Range& range : f.ranges) {
      const std::vector<float> x = samples_of(range), z = probe.run(f.function, x, divisors);
      for (size_t i = 0; i < x.size(); ++i) {
        const double exact = f.exact(static_cast<double>(x[i]), static_cast<double>(divisors[i]));
        const double off = std::abs(static_cast<double>(z[i]) - exact) / (f.absolute ? 1.0 : ulp_of(exact));
        if (!(off <= error.worst)) error.worst = off, error.at = x[i];
      }
    }
    errors.push_back(std::move(error));
  }
  return errors;
}

Json to_json(const std::vector<FunctionError>& functions) {
  Json list = Json::array();
  for (const FunctionError& f : functions) {
    Json row;
    row.set("function", f.name);
    row.set("unit", f.unit);
    row.set("worst", f.worst);
    row.set("bound", f.bound);
    row.set("at", static_cast<double>(f.at));
    row.set("ok", f.ok());
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace lemnos::doctor
