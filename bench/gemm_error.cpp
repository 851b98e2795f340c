// The error of a GEMM kernel against the same product in double, relative to the result's root mean square:
//   gemm_error --device NVIDIA --gemm fma,split --size 512,512,4096
// Data: "normal", N(0,1); "outliers", A of N(0,1) with one in 64 positions along K a thousand times larger, as in
// language models, B of N(0,1) / 50; "uniform", U(0,1). One JSON object a line. bench/gemm_peer.py runs the peer.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "base/json.h"
#include "base/parallel.h"
#include "gemm_case.h"
#include "runtime/profile.h"

namespace lemnos {
namespace {

struct Data {
  std::vector<float> a, b;
};

std::vector<float> draw(int64_t count, bool uniform, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> even;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = uniform ? even(random) : normal(random);
  return values;
}

Data make_data(const GemmCall& call, const std::string& kind) {
  const bool uniform = kind == "uniform";
  Data data{draw(call.m * call.k, uniform, 1), draw(call.n * call.k, uniform, 2)};
  if (kind != "outliers") return data;
  const bool tn = call.layout == GemmLayout::tn;
  for (size_t i = 0; i < data.a.size(); ++i) {
    const auto at = static_cast<int64_t>(i), k = tn ? at / call.m : at % call.k;
    if (k % 64 == 5) data.a[i] *= 1000;
  }
  for (float& value : data.b) value /= 50;
  return data;
}

struct Error {
  double rms = 0, worst = 0;
};

std::vector<double> product_in_double(const GemmCall& call, const Data& data) {
  const auto m = static_cast<size_t>(call.m), n = static_cast<size_t>(call.n), k = static_cast<size_t>(call.k);
  const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
  std::vector<double> c(m * n);
  run_parallel(m, [&](size_t i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t l = 0; l < k; ++l)
        sum += static_cast<double>(data.a[tn ? l * m + i : i * k + l]) * data.b[nt ? j * k + l : l * n + j];
      c[i * n + j] = sum;
    }
  });
  return c;
}

Error error_of(const std::vector<float>& got, const std::vector<double>& exact) {
  double squares = 0, errors = 0, worst = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double off = std::abs(got[i] - exact[i]);
    squares += exact[i] * exact[i];
    errors += off * off;
    worst = std::max(worst, std::isnan(off) ? INFINITY : off);
  }
  const auto count = static_cast<double>(exact.size());
  const double rms = std::sqrt(squares / count);
  return {std::sqrt(errors / count) / rms, worst / rms};
}

std::vector<float> run_on_device(GemmCall call, const Data& data, bool split, vk::Device& device,
                                 vk::PipelineCache& pipelines) {
  DeviceBuffers buffers(device, pipelines);
  const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
  call.row_stride_a = tn ? call.m : call.k;
  call.row_stride_b = nt ? call.k : call.n;
  call.row_stride_c = call.n;
  call.a = buffers.add(std::as_bytes(std::span(data.a)));
  call.b = buffers.add(std::as_bytes(std::span(data.b)));
  call.c = buffers.add(call.m * call.n * 4);
  if (const int64_t bytes = gemm_workspace_bytes(call); bytes > 0) call.workspace = buffers.add(bytes);
  if (split) add_largest(call, buffers);
  buffers.run(gemm(call, profile_of(device)));
  return buffers.read(call.c, call.m * call.n);
}

struct Options {
  std::string device, size = "512,512,4096";
  std::vector<std::string> kernels = {"fma", "split"}, layouts = {"nn", "nt", "tn"},
                           kinds = {"normal", "outliers", "uniform"};
};

void report(const Options& options, const std::string& layout, const std::string& kind, vk::Device& device,
            vk::PipelineCache& pipelines) {
  const GemmCall call = call_of(layout, options.size);
  const Data data = make_data(call, kind);
  const std::vector<double> exact = product_in_double(call, data);
  for (const std::string& kernels : options.kernels) {
    const Error error = error_of(run_on_device(call, data, kernels == "split", device, pipelines), exact);
    Json line = Json::object();
    line.set("kernel", kernels);
    line.set("layout", layout);
    line.set("data", kind);
    line.set("rms", error.rms);
    line.set("worst", error.worst);
    std::printf("%s\n", line.dump().c_str());
  }
}

int run(const Options& options) {
  const auto device = vk::Device::open(options.device);
  vk::PipelineCache pipelines(*device);
  for (const std::string& kind : options.kinds)
    for (const std::string& layout : options.layouts) report(options, layout, kind, *device, pipelines);
  return 0;
}

}  // namespace
}  // namespace lemnos

int main(int argc, char** argv) {
  lemnos::Options options;
  CLI::App app("Errors of GEMM kernels against double");
  app.add_option("--device", options.device, "index, \"cpu\" or part of a name");
  app.add_option("--size", options.size, "M,N,K");
  app.add_option("--gemm", options.kernels)->delimiter(',')->check(CLI::IsMember({"fma", "split"}));
  app.add_option("--layout", options.layouts)->delimiter(',')->check(CLI::IsMember({"nn", "nt", "tn"}));
  app.add_option("--data", options.kinds)->delimiter(',')->check(CLI::IsMember({"normal", "outliers", "uniform"}));
  CLI11_PARSE(app, argc, argv);
  try {
    return lemnos::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
