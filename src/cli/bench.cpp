#include <algorithm>

#include "base/error.h"
#include "bench/train_bench.h"
#include "cli/command.h"
#include "io/folder_kind.h"
#include "ops/attention/tiles.h"
#include "train/recompute_plan.h"
#include "vk/device.h"

namespace lemnos::cli {
namespace {

TrainWork work_of(const Arguments& arguments) {
  TrainWork work;
  work.rows = arguments.integer("--rows", 1, 1, 4096);
  work.length = arguments.integer("--length", 512, 2, kMaxAttentionSegment);
  work.lora_r = arguments.has("--full") ? 0 : arguments.integer("--lora-r", 16, 1, 65536);
  work.bf16_base = arguments.has("--bf16-base");
  if (work.bf16_base && work.lora_r == 0) fail(ErrorKind::usage, "--bf16-base is for LoRA: weights that are trained are f32");
  work.steps = arguments.integer("--steps", 10, 1, 100000);
  work.gemm = gemm_choice(arguments.get("--gemm").value_or("auto"));
  work.profile = arguments.has("--profile");
  work.memory_limit = static_cast<int64_t>(arguments.number("--memory-limit", 0, 0, 1 << 20) * (1 << 30));
  work.checkpointing = arguments.has("--gradient-checkpointing") ? Checkpointing::every_layer : Checkpointing::when_needed;
  work.name = format("{}_b{}_t{}", work.lora_r > 0 ? "lora" : "full", work.rows, work.length);
  return work;
}

Json to_json(const TrainWork& work, const TrainTiming& timing) {
  Json out;
  out.set("name", work.name);
  out.set("tokens_per_s", timing.tokens_per_second);
  out.set("step_ms", timing.step_ms);
  out.set("first_step_ms", timing.first_step_ms);
  out.set("peak_bytes", timing.peak_bytes);
  out.set("driver_bytes", timing.driver_bytes);
  out.set("recompute_layers", timing.recomputed.layers);
  out.set("recompute", to_string(timing.recomputed));
  if (timing.by_op.empty()) return out;
  Json ops = Json::object();
  for (const auto& [name, time] : timing.by_op) {
    Json row;
    row.set("ms", time.ms);
    row.set("nodes", time.nodes);
    row.set("tflops", time.ms > 0 ? time.flops / time.ms * 1e-9 : 0.0);
    row.set("roofline_share", time.ms > 0 ? time.least_ms / time.ms : 0.0);
    ops.set(name, std::move(row));
  }
  out.set("by_op", std::move(ops));
  out.set("roofline", Json::Object{{"tflops", timing.roofline.flops_per_ms * 1e-9}, {"gb_per_s", timing.roofline.bytes_per_ms * 1e-6}});
  return out;
}

void print(const TrainWork& work, const TrainTiming& timing) {
  print_line(format("{}: {:.0f} tokens/s, {:.2f} ms a step, {} planned, {} taken by the driver, first step after {:.1f} s",
                    work.name, timing.tokens_per_second, timing.step_ms, byte_text(timing.peak_bytes),
                    byte_text(timing.driver_bytes), timing.first_step_ms / 1000));
  if (const std::string again = to_string(timing.recomputed); !again.empty()) print_line("  made again: " + again);
  std::vector<std::pair<std::string, OpTime>> sorted(timing.by_op.begin(), timing.by_op.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.ms > b.second.ms; });
  if (sorted.empty()) return;
  print_line(format("  this device by our kernels: {:.2f} TFLOP/s, {:.0f} GB/s; what these two allow is the last column's 100 %",
                    timing.roofline.flops_per_ms * 1e-9, timing.roofline.bytes_per_ms * 1e-6));
  for (const auto& [name, time] : sorted)
    print_line(format("  {:<32}{:>10.3f} ms {:>6} nodes {:>8.2f} TFLOP/s {:>4.0f} %", name, time.ms, time.nodes,
                      time.ms > 0 ? time.flops / time.ms * 1e-9 : 0.0, time.ms > 0 ? 100 * time.least_ms / time.ms : 0.0));
}

int run_bench(const Arguments& arguments) {
  const ModelConfig model = read_model_config(config_file(arguments.at("CONFIG")));
  const auto device = vk::Device::open(arguments.get("--device").value_or(""));
  const TrainWork work = work_of(arguments);
  const TrainTiming timing = time_training(*device, model, work);
  if (!arguments.json()) {
    print_line(format("{} ({})", device->info().name, device->info().driver));
    print(work, timing);
    return 0;
  }
  Json out, list = Json::array();
  list.push_back(to_json(work, timing));
  out.set("device", device->info().name);
  out.set("driver", device->info().driver);
  out.set("version", LEMNOS_VERSION);
  out.set("work", std::move(list));
  print_json(out);
  return 0;
}

}  // namespace

extern const Command kCommand_bench;
const Command kCommand_bench{
    .name = "bench",
    .summary = "Training speed and memory of a model shape on random weights",
    .options = {{"CONFIG", "config.json of the shape, or its folder", OptionSpec::Kind::value, true},
                {"--rows", "rows of a micro-batch (default: 1)"},
                {"--length", "tokens of a row, at most 32768 (default: 512)"},
                {"--lora-r", "LoRA rank on all linear modules (default: 16)"},
                {"--bf16-base", "the frozen matrices as a bf16 checkpoint holds them (default: f32)", OptionSpec::Kind::flag},
                {"--full", "full training instead of LoRA", OptionSpec::Kind::flag},
                {"--steps", "timed steps (default: 10)"},
                {"--gemm", "kernels of matrix products: auto (default), fma or split"},
                {"--memory-limit", "GiB to fit into by making activations again, the cheapest first (default: what the device has)"},
                {"--gradient-checkpointing", "make the activations of every layer again", OptionSpec::Kind::flag},
                {"--profile", "device time by kind of op (slower: nothing overlaps)", OptionSpec::Kind::flag},
                kDeviceOption},
    .run = run_bench};

}  // namespace lemnos::cli
