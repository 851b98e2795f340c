// GFLOP/s of the GEMM kernels, by device timestamps:
//   gemm_bench [--device SELECTOR] [--size 512,512,512]... [--layout nn|nt|tn] [--b f32|f16|bf16]
//              [--sweep] [--seconds 1] [--json]
// Best of as many runs as fit the seconds. --sweep measures the candidate tiles of the GPU kernel
// for each shape (without --size: those of a 0.5 B model), checks that each gives the bits of the
// first, tries other splits of K with the fastest, and ends with a table of the fastest.
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
#include "gemm_case.h"
#include "ops/linear/gemm_tiles.h"
#include "runtime/profile.h"
#include "vk/profiler.h"

namespace lemnos {
namespace {

struct Options {
  std::string device;
  std::vector<std::string> sizes;
  std::vector<std::string> layouts = {"nn", "nt", "tn"};
  std::string b_dtype = "f32";
  std::string gemm = "fma";
  double seconds = 0;
  bool sweep = false;
  bool json = false;
};

struct Sizes {
  int64_t m, n, k;
};

/// 4096 and 512 tokens of Qwen2.5-0.5B: its layers, the head (151,936 tokens of vocabulary) in
/// slices of rows, LoRA of rank 16; and a square one.
const std::pair<const char*, std::vector<Sizes>> kModelShapes[] = {
    {"nn",
     {{4096, 4096, 4096},
      {4096, 896, 896},
      {4096, 4864, 896},
      {4096, 896, 4864},
      {512, 896, 896},
      {512, 4864, 896},
      {512, 896, 4864},
      {512, 896, 128},
      {512, 896, 151936},
      {384, 896, 151936},
      {128, 896, 151936},
      {4096, 16, 896},
      {4096, 16, 4864},
      {4096, 896, 16},
      {4096, 4864, 16}}},
    {"nt",
     {{4096, 4096, 4096},
      {4096, 896, 896},
      {4096, 4864, 896},
      {4096, 896, 4864},
      {4096, 128, 896},
      {512, 896, 896},
      {512, 4864, 896},
      {512, 896, 4864},
      {512, 128, 896},
      {192, 896, 896},
      {512, 151936, 896},
      {4096, 16, 896},
      {4096, 16, 4864},
      {4096, 896, 16},
      {4096, 4864, 16}}},
    {"tn",
     {{4096, 4096, 4096},
      {896, 896, 4096},
      {4864, 896, 4096},
      {896, 4864, 4096},
      {128, 896, 4096},
      {896, 896, 512},
      {4864, 896, 512},
      {128, 896, 512},
      {151936, 896, 512},
      {16, 896, 4096},
      {16, 4864, 4096},
      {896, 16, 4096},
      {4864, 16, 4096}}},
};

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

constexpr int64_t kMostWorkspace = int64_t{512} << 20;

/// The best of many runs, and the first one with its compilation. On a CPU device the processor
/// time is the work itself, whatever else the machine does.
struct Measurement {
  double ms = 1e30, cpu_ms = 1e30;
  double first_ms = 0, first_cpu_ms = 0;
};

/// One product with its buffers.
class Bench {
 public:
  Bench(vk::Device& device, vk::PipelineCache& pipelines, GemmCall call, bool split, int64_t workspace_bytes = 0)
      : device_(device), buffers_(device, pipelines), call_(call) {
    const bool tn = call.layout == GemmLayout::tn, nt = call.layout == GemmLayout::nt;
    call_.row_stride_a = tn ? call.m : call.k;
    call_.row_stride_b = nt ? call.k : call.n;
    call_.row_stride_c = call.n;
    call_.a = add_filled(call.m * call.k * 4);
    call_.b = add_filled(call.n * call.k * byte_size(call.b_dtype));
    call_.c = buffers_.add(call.m * call.n * 4);
    const int64_t bytes = std::max(gemm_workspace_bytes(call_), workspace_bytes);
    if (bytes > 0) call_.workspace = buffers_.add(bytes);
    if (split) largest_ = add_largest(call_, buffers_);
  }

  const GemmCall& call() const { return call_; }
  /// What finds the scales of a product of split precision, not part of the product's own time.
  const std::vector<KernelCall>& largest() const { return largest_; }

  /// `repeats` of the calls go into one submission, which evens out what a submission costs.
  Measurement measure(const std::vector<KernelCall>& calls, double seconds, int repeats = 1) {
    vk::CommandBuffer commands(device_);
    vk::Profiler profiler(device_, 1);
    const Stopwatch first;
    const uint32_t scope = profiler.begin(commands, "gemm");
    for (int i = 0; i < repeats; ++i) buffers_.record(commands, calls);
    profiler.end(commands, scope);
    commands.finish();
    buffers_.run(commands);
    Measurement best{.first_ms = first.wall_ms(), .first_cpu_ms = first.cpu_ms()};
    const Stopwatch all;
    for (int runs = 0; runs < 2 || all.wall_ms() < 1e3 * seconds; ++runs) {
      const Stopwatch one;
      buffers_.run(commands);
      best.cpu_ms = std::min(best.cpu_ms, one.cpu_ms() / repeats);
      const bool timestamps = device_.info().timestamp_period_ns > 0;
      best.ms = std::min(best.ms, (timestamps ? profiler.read()[0].ms : one.wall_ms()) / repeats);
    }
    return best;
  }

  /// The first 4 M elements of C.
  std::vector<float> result() { return buffers_.read(call_.c, std::min<int64_t>(call_.m * call_.n, 1 << 22)); }

 private:
  /// Small normal numbers of every dtype: real data draws real power.
  BufferRef add_filled(int64_t bytes) {
    std::vector<uint16_t> words(static_cast<size_t>(bytes / 2));
    for (uint16_t& word : words) {
      state_ = state_ * 1664525u + 1013904223u;
      word = static_cast<uint16_t>((state_ >> 16 & 0x80ffu) | 0x3c00u);
    }
    return buffers_.add(std::as_bytes(std::span(words)));
  }

  vk::Device& device_;
  DeviceBuffers buffers_;
  GemmCall call_;
  std::vector<KernelCall> largest_;
  uint32_t state_ = 1;
};

std::string tile_name(const GemmTile& tile) {
  return format("{}x{}x{} {}x{} lm{} u{}{}{}{} f{}x{}", tile.bm, tile.bn, tile.bk, tile.rm, tile.rn,
                tile.lm, tile.unroll, tile.interleaved ? " inter" : "", tile.quads ? " quads" : "",
                tile.buffers == 2 ? " two" : "",
                tile.fma_rows, tile.fma_columns);
}

std::string tile_name(const GemmSplitTile& tile) {
  return format("split {}x{} {}x{}", tile.bm, tile.bn, tile.wm, tile.wn);
}

double gflop(const GemmCall& call) {
  return 2e-9 * static_cast<double>(call.m * call.n) * static_cast<double>(call.k);
}

std::string shape_name(const std::string& layout, const GemmCall& call) {
  return format("{} {},{},{}", layout, call.m, call.n, call.k);
}

void report(const Options& options, const std::string& layout, const GemmCall& call,
            const Measurement& best, const Measurement* largest) {
  const std::string shape = shape_name(layout, call);
  if (options.json) {
    Json line = Json::object();
    line.set("layout", layout);
    line.set("shape", shape);
    line.set("splits", gemm_splits(call));
    line.set("ms", best.ms);
    line.set("gflops", 1e3 * gflop(call) / best.ms);
    line.set("gflop_per_core_second", 1e3 * gflop(call) / best.cpu_ms);
    line.set("first_ms", best.first_ms);
    line.set("gemm", options.gemm);
    if (largest != nullptr) line.set("scales_ms", largest->ms);
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "%-20s splits %2ld %9.3f ms %9.1f GFLOP/s %6.1f a core-s, first %6.0f ms (%5.0f core-ms), scales %.3f ms\n",
        shape.c_str(), gemm_splits(call), best.ms, 1e3 * gflop(call) / best.ms,
        1e3 * gflop(call) / best.cpu_ms, best.first_ms, best.first_cpu_ms,
        largest != nullptr ? largest->ms : 0.0);
  }
  std::fflush(stdout);
}

/// One shape's candidates.
template <typename Tile>
class Sweep {
 public:
  Sweep(const Options& options, Bench& bench, Tile chosen, std::vector<Tile> candidates, vk::PipelineCache& pipelines)
      : options_(options), bench_(bench), chosen_(chosen), candidates_(std::move(candidates)) {
    std::vector<vk::PipelineKey> keys;
    for (const int64_t splits : {gemm_splits(bench.call()), int64_t{1}, int64_t{2}})
      for (const Tile& tile : candidates_)
        for (const KernelCall& kernel : gemm_with_tile(bench.call(), tile, splits))
          keys.push_back({kernel.shader, kernel.constants});
    pipelines.prepare(keys);
  }

  /// Returns false when a tile gave other bits.
  bool run(const std::string& layout) {
    const GemmCall& call = bench_.call();
    bench_.measure(gemm_with_tile(call, chosen_, gemm_splits(call)), kWarmUpSeconds);
    std::printf("%s\n", shape_name(layout, call).c_str());
    const double chosen_ms = measure(chosen_, gemm_splits(call), "the chosen");
    for (const Tile& tile : candidates_) {
      measure(tile, gemm_splits(call), "");
      check_bits();
    }
    const double best_ms = best_ms_;
    summary_ = format("{:<20} {:>8.2f} us {:>6.2f} TF splits {:>2} {:<38}| chosen {:>6.2f} TF {}",
                      shape_name(layout, call), 1e3 * best_ms, gflop(call) / best_ms,
                      gemm_splits(call), tile_name(best_), gflop(call) / chosen_ms,
                      best_ms < 0.97 * chosen_ms ? tile_name(chosen_) : "");
    sweep_splits();
    return same_bits_;
  }
  const std::string& summary() const { return summary_; }

 private:
  static constexpr double kWarmUpSeconds = 0.15;

  double measure(const Tile& tile, int64_t splits, const char* note) {
    const std::vector<KernelCall> calls = gemm_with_tile(bench_.call(), tile, splits);
    const double once = bench_.measure(calls, 0).ms;
    const int repeats = std::clamp(static_cast<int>(2 / once), 1, 50);
    const double ms = bench_.measure(calls, options_.seconds, repeats).ms;
    std::printf("  %-40s splits %2ld %9.2f us %6.2f TF %s\n", tile_name(tile).c_str(), splits,
                1e3 * ms, gflop(bench_.call()) / ms, note);
    std::fflush(stdout);
    if (splits == gemm_splits(bench_.call()) && ms < best_ms_) best_ms_ = ms, best_ = tile;
    return ms;
  }

  void check_bits() {
    const std::vector<float> result = bench_.result();
    if (expected_.empty()) expected_ = result;
    if (std::memcmp(result.data(), expected_.data(), result.size() * 4) == 0) return;
    std::printf("  WRONG BITS\n");
    same_bits_ = false;
  }

  void sweep_splits() {
    const GemmCall& call = bench_.call();
    double fastest = best_ms_;
    int64_t fastest_splits = gemm_splits(call);
    for (const int64_t splits : {1, 2, 3, 4, 5, 7, 8, 12, 16, 28}) {
      const bool possible =
          splits * 128 <= call.k && splits * call.m * call.n * 4 <= kMostWorkspace;
      if (splits == gemm_splits(call) || !possible || call.m * call.n > 1 << 23) continue;
      const double ms = measure(best_, splits, "");
      if (ms < fastest) fastest = ms, fastest_splits = splits;
    }
    if (fastest < 0.97 * best_ms_)
      summary_ += format(" (splits {}: {:.2f} TF)", fastest_splits, gflop(call) / fastest);
  }

  const Options& options_;
  Bench& bench_;
  Tile chosen_;
  std::vector<Tile> candidates_;
  std::vector<float> expected_;
  Tile best_{};
  double best_ms_ = 1e30;
  bool same_bits_ = true;
  std::string summary_;
};

struct Work {
  std::string layout, size;
};

std::vector<Work> work_of(const Options& options) {
  std::vector<Work> work;
  if (options.sizes.empty()) {
    for (const auto& [layout, shapes] : kModelShapes)
      for (const Sizes& sizes : shapes)
        if (std::ranges::count(options.layouts, layout) > 0)
          work.push_back({layout, format("{},{},{}", sizes.m, sizes.n, sizes.k)});
  }
  for (const std::string& text : options.sizes)
    for (const std::string& layout : options.layouts) work.push_back({layout, text});
  return work;
}

GemmCall call_of(const Options& options, const Work& work) {
  GemmCall call = lemnos::call_of(work.layout, work.size);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    if (options.b_dtype == name_of(dtype)) call.b_dtype = dtype;
  return call;
}

int run_sweep(const Options& options, vk::Device& device) {
  const DeviceProfile profile = profile_of(device);
  vk::PipelineCache pipelines(device);
  std::vector<std::string> summary;
  bool right = true;
  for (const Work& work : work_of(options)) {
    const GemmCall call = call_of(options, work);
    const int64_t workspace = std::min(kMostWorkspace, 28 * call.m * call.n * 4);
    Bench bench(device, pipelines, call, options.gemm == "split", call.k >= 256 ? workspace : 4);
    const auto run_with = [&](auto sweep) {
      right = sweep.run(work.layout) && right;
      summary.push_back(sweep.summary());
    };
    if (options.gemm == "split") {
      run_with(Sweep(options, bench, choose_gemm_split_tile(bench.call()), gemm_split_tile_candidates(), pipelines));
    } else {
      run_with(Sweep(options, bench, choose_gemm_tile(bench.call(), profile),
                     gemm_tile_candidates(bench.call(), profile), pipelines));
    }
  }
  std::printf("\n");
  for (const std::string& line : summary) std::printf("%s\n", line.c_str());
  if (!right) std::printf("WRONG BITS, see above\n");
  return right ? 0 : 1;
}

int run(const Options& options) {
  const auto device = vk::Device::open(options.device);
  const DeviceProfile profile = profile_of(*device);
  std::fprintf(stderr, "%s, %s kernels\n", profile.name.c_str(), profile.cpu_path ? "CPU" : "GPU");
  if (options.sweep) return run_sweep(options, *device);
  vk::PipelineCache pipelines(*device);
  for (const Work& work : work_of(options)) {
    const bool split = options.gemm == "split";
    Bench bench(*device, pipelines, call_of(options, work), split);
    const Measurement largest = split ? bench.measure(bench.largest(), options.seconds) : Measurement{};
    report(options, work.layout, bench.call(), bench.measure(gemm(bench.call(), profile), options.seconds),
           split ? &largest : nullptr);
  }
  return 0;
}

}  // namespace
}  // namespace lemnos

int main(int argc, char** argv) {
  lemnos::Options options;
  CLI::App app("GEMM throughput");
  app.add_option("--device", options.device, "index, \"cpu\" or part of a name");
  app.add_option("--size", options.sizes,
                 "M,N,K; may be repeated; without it shapes of a 0.5 B model");
  app.add_option("--layout", options.layouts)->check(CLI::IsMember({"nn", "nt", "tn"}));
  app.add_option("--b", options.b_dtype, "dtype of B")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  app.add_option("--gemm", options.gemm, "kernel: FMA, or split precision on matrix units")
      ->check(CLI::IsMember({"fma", "split"}));
  app.add_option("--seconds", options.seconds, "per measurement; 1, or 0.025 in a sweep");
  app.add_flag("--sweep", options.sweep, "the candidate tiles of the GPU kernel");
  app.add_flag("--json", options.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  if (options.seconds == 0) options.seconds = options.sweep ? 0.025 : 1;
  try {
    return lemnos::run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
