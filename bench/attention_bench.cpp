// GFLOP/s of attention and its gradient, as JSON; useful work only: the pairs that are visible.
//   attention_bench [--device SELECTOR] [--gpu-path] [--tokens 512] [--sequences 1] [--heads 9]
//                   [--kv-heads 3] [--depth 64] [--window 0] [--seconds 2]
// Device time is the best of as many runs as fit the seconds. Processor time of all threads tells
// about kernels on a CPU device whatever else the machine does.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/error.h"
#include "base/json.h"
#include "graph/autodiff.h"
#include "ops/attention/attention.h"
#include "ops/attention/tiles.h"
#include "runtime/program.h"
#include "vk/device.h"

namespace lemnos {
namespace {

struct Options {
  std::string device;
  bool gpu_path = false, split = false;
  int64_t tokens = 512, sequences = 1, heads = 9, kv_heads = 3, depth = 64, window = 0;
  double seconds = 2;
  int64_t rows() const { return tokens * sequences; }
};

struct Best {
  double forward_ms = 1e30, backward_ms = 1e30, cpu_ms = 1e30;
};

Graph build_graph(const Options& o, bool backward) {
  Graph graph;
  Builder b(graph);
  b.split_gemm = o.split ? SplitGemm::always : SplitGemm::never;
  const ValueId q = b.state("q", {o.rows(), o.heads, o.depth});
  const ValueId k = b.state("k", {o.rows(), o.kv_heads, o.depth});
  const ValueId v = b.state("v", {o.rows(), o.kv_heads, o.depth});
  const Shape table{attention_tile_count(o.rows(), o.sequences), 4};
  const ValueId y = ops::attention(b, q, k, v, b.input("attn_tiles", table, DType::i32),
                                   1 / std::sqrt(static_cast<double>(o.depth)), o.window);
  graph.results = {y};
  if (!backward) return graph;
  Autodiff autodiff(b, {q, k, v});
  autodiff.add(y, b.state("grad_o", graph.shape(y)));
  autodiff.run();
  for (const ValueId id : {q, k, v}) graph.results.push_back(autodiff.gradient(id));
  return graph;
}

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& x : values) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0f;
  }
  return values;
}

double cpu_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void run_once(Program& program, Best& best) {
  const double before = cpu_ms();
  program.run(Section::micro);
  program.wait();
  best.cpu_ms = std::min(best.cpu_ms, cpu_ms() - before);
  for (const Program::NodeTime& node : program.times(Section::micro)) {
    double& ms = node.op == "attention" ? best.forward_ms : best.backward_ms;
    ms = std::min(ms, node.ms);
  }
}

Best measure(vk::Device& device, vk::PipelineCache& pipelines, const Options& o, bool backward) {
  Graph graph = build_graph(o, backward);
  const Graph* graphs[] = {&graph};
  ArenaPlan arena = plan_arena(graph, {});
  const ArenaPlan* arenas[] = {&arena};
  Storage storage(device, plan_storage(graphs, {}), merge_arenas(arenas));
  for (const ValueId id : graph.of_kind(ValueKind::state)) {
    const std::vector<float> values = numbers(element_count(graph.shape(id)), 7 + id.index);
    storage.write(graph[id].name, std::as_bytes(std::span(values)));
  }
  Program program(storage, pipelines, std::move(graph), std::move(arena),
                  {.profile = true, .gpu_path = o.gpu_path});
  const std::vector<int64_t> segments(static_cast<size_t>(o.sequences), o.tokens);
  program.write_input("attn_tiles",
                      attention_tiles(segments, o.rows(),
                                      attention_tile_count(o.rows(), o.sequences)));
  Best warm_up, best;
  run_once(program, warm_up);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(o.seconds);
  for (int runs = 0; runs < 3 || std::chrono::steady_clock::now() < end; ++runs)
    run_once(program, best);
  return best;
}

/// Of one product over all visible pairs: 2 flops each.
double gflop(const Options& o) {
  const int64_t window = o.window > 0 ? std::min(o.window, o.tokens) : o.tokens;
  const auto pairs = static_cast<double>(window * (window + 1) / 2 + (o.tokens - window) * window);
  return 2e-9 * pairs * static_cast<double>(o.sequences * o.heads * o.depth);
}

int run(const Options& o) {
  const auto device = vk::Device::open(o.device);
  vk::PipelineCache pipelines(*device);
  const Best forward = measure(*device, pipelines, o, false);
  const Best both = measure(*device, pipelines, o, true);
  const double forward_work = 2 * gflop(o), backward_work = 5 * gflop(o);
  Json result = Json::object();
  result.set("device", device->info().name);
  result.set("path", o.split ? "split" : device->cpu_path() && !o.gpu_path ? "cpu" : "gpu");
  for (const auto& [name, value] : {std::pair{"tokens", o.tokens}, {"sequences", o.sequences},
                                    {"heads", o.heads}, {"kv_heads", o.kv_heads},
                                    {"depth", o.depth}, {"window", o.window}})
    result.set(name, value);
  result.set("forward_ms", forward.forward_ms);
  result.set("forward_gflops", 1e3 * forward_work / forward.forward_ms);
  result.set("backward_ms", both.backward_ms);
  result.set("backward_gflops", 1e3 * backward_work / both.backward_ms);
  result.set("forward_gflop_per_cpu_second", 1e3 * forward_work / forward.cpu_ms);
  result.set("backward_gflop_per_cpu_second",
             1e3 * backward_work / (both.cpu_ms - forward.cpu_ms));
  std::puts(result.dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace lemnos

int main(int argc, char** argv) {
  CLI::App app("Speed of attention");
  lemnos::Options o;
  app.add_option("--device", o.device, "as for lemnos");
  app.add_flag("--gpu-path", o.gpu_path, "the kernels for GPUs, also on a CPU device");
  app.add_flag("--split", o.split, "the kernels on matrix units");
  app.add_option("--tokens", o.tokens, "of each sequence");
  app.add_option("--sequences", o.sequences, "beside each other");
  app.add_option("--heads", o.heads, "of q");
  app.add_option("--kv-heads", o.kv_heads, "of k and v");
  app.add_option("--depth", o.depth, "elements of a head");
  app.add_option("--window", o.window, "keys that a query sees; 0: all before it");
  app.add_option("--seconds", o.seconds, "at least, for each of two measurements");
  CLI11_PARSE(app, argc, argv);
  try {
    return lemnos::run(o);
  } catch (const lemnos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return lemnos::exit_code(error.kind());
  }
}
