// GFLOP/s of the GEMM kernels, by device timestamps:
//   gemm_bench [--device SELECTOR] [--size 512,512,512]... [--layout nn|nt|tn] [--b f32|f16|bf16]
//              [--sweep] [--seconds 1] [--json]
// Best of as many runs as fit the seconds. --sweep measures every candidate tile of the GPU kernel
// and checks that each gives the bits of the first.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/error.h"
#include "base/format.h"
#include "base/json.h"
#include "ops/linear/gemm_tiles.h"
#include "runtime/profile.h"
#include "vk/buffer.h"
#include "vk/device.h"
#include "vk/pipeline.h"
#include "vk/profiler.h"
#include "vk/queue.h"
#include "vk/recorder.h"
#include "vk/transfer.h"

namespace lemnos {
namespace {

struct Options {
  std::string device;
  std::vector<std::string> sizes;
  std::vector<std::string> layouts = {"nn", "nt", "tn"};
  std::string b_dtype = "f32";
  double seconds = 1;
  bool sweep = false;
  bool json = false;
};

struct Sizes {
  int64_t m, n, k;
};

Sizes parse_sizes(const std::string& text) {
  Sizes sizes{};
  char rest = 0;
  if (std::sscanf(text.c_str(), "%ld,%ld,%ld%c", &sizes.m, &sizes.n, &sizes.k, &rest) != 3)
    fail(ErrorKind::usage, "--size takes M,N,K, got \"{}\"", text);
  return sizes;
}

GemmLayout parse_layout(const std::string& text) {
  return text == "nn" ? GemmLayout::nn : text == "nt" ? GemmLayout::nt : GemmLayout::tn;
}

class Stopwatch {
 public:
  double wall_ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - wall_).count();
  }
  /// Processor time of all threads.
  double cpu_ms() const { return 1e3 * static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point wall_ = Clock::now();
  std::clock_t cpu_ = std::clock();
};

/// The best of many runs, and the first one with its compilation. On a CPU device the processor
/// time is the work itself, whatever else the machine does.
struct Measurement {
  double ms = 1e30, cpu_ms = 1e30;
  double first_ms = 0, first_cpu_ms = 0;
};

/// One product with its buffers.
class Bench {
 public:
  Bench(vk::Device& device, vk::PipelineCache& pipelines, GemmCall call)
      : device_(device), pipelines_(pipelines), call_(call) {
    const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
    call_.row_stride_a = tn ? call.m : call.k;
    call_.row_stride_b = nt ? call.k : call.n;
    call_.row_stride_c = call.n;
    call_.a = add(call.m * call.k * 4);
    call_.b = add(call.n * call.k * byte_size(call.b_dtype));
    call_.c = add(call.m * call.n * 4);
    if (const int64_t bytes = gemm_workspace_bytes(call_); bytes > 0) call_.workspace = add(bytes);
    fill_inputs();
  }

  const GemmCall& call() const { return call_; }

  Measurement measure(const std::vector<KernelCall>& calls, double seconds) {
    vk::CommandBuffer commands(device_);
    vk::Profiler profiler(device_, 1);
    const Stopwatch first;
    const uint32_t scope = profiler.begin(commands, "gemm");
    for (const KernelCall& call : calls) {
      record(commands, call);
      commands.barrier();
    }
    profiler.end(commands, scope);
    commands.finish();
    run(commands);
    Measurement best{.first_ms = first.wall_ms(), .first_cpu_ms = first.cpu_ms()};
    const Stopwatch all;
    for (int runs = 0; runs < 3 || all.wall_ms() < 1e3 * seconds; ++runs) {
      const Stopwatch one;
      run(commands);
      best.cpu_ms = std::min(best.cpu_ms, one.cpu_ms());
      const bool timestamps = device_.info().timestamp_period_ns > 0;
      best.ms = std::min(best.ms, timestamps ? profiler.read()[0].ms : one.wall_ms());
    }
    return best;
  }

  std::vector<float> result() {
    std::vector<float> c(static_cast<size_t>(call_.m * call_.n));
    vk::Transfer(device_).download(buffers_[2], 0, vk::writable_bytes_of(c));
    return c;
  }

 private:
  BufferRef add(int64_t bytes) {
    buffers_.emplace_back(device_, static_cast<uint64_t>(bytes), vk::MemoryKind::device,
                          "a matrix");
    return {{static_cast<uint32_t>(buffers_.size() - 1)}};
  }
  /// Small normal numbers of every dtype: real data draws real power.
  void fill_inputs() {
    uint32_t state = 1;
    vk::Transfer transfer(device_);
    for (size_t i = 0; i < 2; ++i) {
      std::vector<uint16_t> words(buffers_[i].size() / 2);
      for (uint16_t& word : words) {
        state = state * 1664525u + 1013904223u;
        word = static_cast<uint16_t>((state >> 16 & 0x80ffu) | 0x3c00u);
      }
      transfer.upload(vk::bytes_of(words), buffers_[i]);
    }
  }
  void run(const vk::CommandBuffer& commands) {
    device_.queue().wait(device_.queue().submit(commands));
  }
  void record(vk::CommandBuffer& commands, const KernelCall& call) {
    std::vector<std::byte> push = call.push;
    for (size_t i = 0; i < call.buffers.size(); ++i) {
      const uint64_t address = buffers_[call.buffers[i].value.index].address() +
                               static_cast<uint64_t>(call.buffers[i].byte_offset);
      std::memcpy(push.data() + 8 * i, &address, 8);
    }
    commands.dispatch(pipelines_.get({call.shader, call.constants}), push, call.groups);
  }

  vk::Device& device_;
  vk::PipelineCache& pipelines_;
  GemmCall call_;
  std::vector<vk::Buffer> buffers_;
};

std::string tile_name(const GemmTile& tile) {
  return format("{}x{}x{} {}x{} lm{} u{}", tile.bm, tile.bn, tile.bk, tile.rm, tile.rn, tile.lm,
                tile.unroll);
}

void report(const Options& options, const std::string& layout, const GemmCall& call,
            const std::string& tile, const Measurement& best, bool same_bits) {
  const double gflop = 2e-9 * static_cast<double>(call.m * call.n) * static_cast<double>(call.k);
  const std::string shape = format("{},{},{}", call.m, call.n, call.k);
  if (options.json) {
    Json line = Json::object();
    line.set("layout", layout);
    line.set("shape", shape);
    line.set("tile", tile);
    line.set("splits", gemm_splits(call));
    line.set("ms", best.ms);
    line.set("gflops", 1e3 * gflop / best.ms);
    line.set("gflop_per_core_second", 1e3 * gflop / best.cpu_ms);
    line.set("first_ms", best.first_ms);
    line.set("same_bits", same_bits);
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%-3s %-16s %-24s splits %2ld %9.3f ms %9.1f GFLOP/s %6.1f a core-s, first %6.0f ms "
        "(%5.0f core-ms)%s\n",
        layout.c_str(), shape.c_str(), tile.c_str(), gemm_splits(call), best.ms,
        1e3 * gflop / best.ms, 1e3 * gflop / best.cpu_ms, best.first_ms, best.first_cpu_ms,
        same_bits ? "" : "  WRONG BITS");
  }
  std::fflush(stdout);
}

bool sweep(const Options& options, const std::string& layout, Bench& bench) {
  std::optional<std::vector<float>> expected;
  bool all_same = true;
  for (const GemmTile& tile : gemm_tile_candidates()) {
    const Measurement best = bench.measure(gemm_with_tile(bench.call(), tile), options.seconds);
    std::vector<float> result = bench.result();
    if (!expected) expected = result;
    const bool same = std::memcmp(result.data(), expected->data(), result.size() * 4) == 0;
    report(options, layout, bench.call(), tile_name(tile), best, same);
    all_same = all_same && same;
  }
  return all_same;
}

void prepare_all(vk::PipelineCache& pipelines, const GemmCall& call) {
  std::vector<vk::PipelineKey> keys;
  for (const GemmTile& tile : gemm_tile_candidates())
    for (const KernelCall& kernel : gemm_with_tile(call, tile))
      keys.push_back({kernel.shader, kernel.constants});
  pipelines.prepare(keys);
}

int run(const Options& options) {
  const auto device = vk::Device::open(options.device);
  const DeviceProfile profile = profile_of(*device);
  vk::PipelineCache pipelines(*device);
  std::fprintf(stderr, "%s, %s kernels\n", profile.name.c_str(), profile.cpu_path ? "CPU" : "GPU");
  bool right = true;
  for (const std::string& text : options.sizes)
    for (const std::string& layout : options.layouts) {
      const Sizes sizes = parse_sizes(text);
      GemmCall call{parse_layout(layout), sizes.m, sizes.n, sizes.k};
      for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
        if (options.b_dtype == name_of(dtype)) call.b_dtype = dtype;
      Bench bench(*device, pipelines, call);
      if (options.sweep) {
        prepare_all(pipelines, bench.call());
        right = sweep(options, layout, bench) && right;
        continue;
      }
      const Measurement best = bench.measure(gemm(bench.call(), profile), options.seconds);
      report(options, layout, bench.call(), "chosen", best, true);
    }
  return right ? 0 : 1;
}

}  // namespace
}  // namespace lemnos

int main(int argc, char** argv) {
  lemnos::Options options;
  CLI::App app("GEMM throughput");
  app.add_option("--device", options.device, "index, \"cpu\" or part of a name");
  app.add_option("--size", options.sizes, "M,N,K; may be repeated");
  app.add_option("--layout", options.layouts)->check(CLI::IsMember({"nn", "nt", "tn"}));
  app.add_option("--b", options.b_dtype, "dtype of B")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--seconds", options.seconds, "per measurement");
  app.add_flag("--sweep", options.sweep, "every candidate tile of the GPU kernel");
  app.add_flag("--json", options.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  if (options.sizes.empty()) options.sizes = {"512,512,512"};
  try {
    return lemnos::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
