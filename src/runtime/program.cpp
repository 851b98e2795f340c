#include "runtime/program.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "runtime/profile.h"
#include "runtime/record_call.h"
#include "vk/device.h"
#include "vk/queue.h"

namespace lemnos {
namespace {

/// Work per submit on devices with a watchdog: about 0.3 s on an integrated GPU that reaches 0.4
/// TFLOP/s, well under the 2 s after which drivers give up.
constexpr double kSegmentFlops = 1.2e11;
constexpr uint32_t kProfiledPerBuffer = 2048;
/// Works among which those are looked for that can run together.
constexpr size_t kWindow = 24;

}  // namespace

Program::Program(Storage& storage, vk::PipelineCache& pipelines, Graph graph, ArenaPlan plan,
                 Options options)
    : storage_(storage),
      graph_(std::move(graph)),
      plan_(std::move(plan)),
      options_(options),
      profile_(profile_of(storage.device())),
      roots_(persistent_roots(graph_)) {
  if (options_.gpu_path) profile_.cpu_path = false;
  const std::vector<std::vector<KernelCall>> calls = dispatch_all(pipelines);
  for (const Section section : kSections)
    record(section, calls, pipelines);
}

Program::~Program() {
  try {
    wait();
  } catch (...) {  // a lost device does nothing more
  }
}

Place Program::place_of(ValueId id) const {
  const ValueId root = roots_[id.index];
  return root.valid() ? storage_.place(graph_[root].name) : plan_.places[id.index];
}

uint64_t Program::address_of(const BufferRef& ref) const {
  if (!ref.value.valid()) return 0;
  return storage_.address(place_of(ref.value)) + static_cast<uint64_t>(ref.byte_offset);
}

Span Program::span_of(ValueId id) const {
  const Place place = place_of(id);
  const uint64_t first = storage_.address(place);
  return {first, first + static_cast<uint64_t>(place.bytes)};
}

std::vector<std::vector<KernelCall>> Program::dispatch_all(vk::PipelineCache& pipelines) const {
  std::vector<std::vector<KernelCall>> calls;
  std::vector<vk::PipelineKey> keys;
  for (const Node& node : graph_.nodes) {
    LEMNOS_CHECK(node.op->dispatch != nullptr, "{} has no kernel", node.op->name);
    calls.push_back(node.op->dispatch({graph_, node, profile_}));
    for (const KernelCall& call : calls.back()) keys.push_back({call.shader, call.constants, 0});
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  pipelines.prepare(keys);
  return calls;
}

std::vector<Program::Work> Program::works_of(Section section, const std::vector<std::vector<KernelCall>>& calls) const {
  std::vector<Work> works;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.section != section) continue;
    for (size_t k = 0; k < calls[n].size(); ++k) {
      if (k > 0 && calls[n][k].independent) works.back().end_call = k + 1;
      else works.push_back({.node = n, .first_call = k, .end_call = k + 1});
    }
  }
  return works;
}

/// The node's, for each of its works: they are in order then.
Accesses Program::accesses_of(const Node& node) const {
  Accesses accesses;
  for (const ValueId in : node.inputs)
    if (in.valid()) accesses.reads.push_back(span_of(in));
  for (const ValueId out : node.outputs) accesses.writes.push_back(span_of(out));
  return accesses;
}

void Program::record(Section section, const std::vector<std::vector<KernelCall>>& calls,
                     vk::PipelineCache& pipelines) {
  Recorded& recorded = sections_[section];
  vk::CommandBuffer* commands = nullptr;
  double flops = 0;
  const auto open = [&] {
    if (commands != nullptr) commands->finish();
    recorded.buffers.push_back(std::make_unique<vk::CommandBuffer>(storage_.device()));
    if (options_.profile)
      recorded.profilers.push_back(std::make_unique<vk::Profiler>(storage_.device(), kProfiledPerBuffer));
    commands = recorded.buffers.back().get();
    flops = 0;
  };
  std::vector<BoundCall> together;  // bound, not recorded yet: no barrier between them
  const auto record_together = [&] {
    for (const BoundCall& call : joined(std::exchange(together, {}))) {
      record_call(*commands, pipelines, call);
      ++recorded.dispatches;
    }
  };
  const auto barrier = [&] {
    commands->barrier();
    ++recorded.barriers;
  };
  // For `update` too, which may be all there is: inputs change with each run of `micro`.
  if (section == Section::micro && storage_.input_staging() != nullptr && plan_.input_bytes > 0) {
    open();
    commands->copy(*storage_.input_staging(), 0, storage_.input_block(), 0, static_cast<uint64_t>(plan_.input_bytes));
  }
  const std::vector<Work> works = works_of(section, calls);
  std::vector<Accesses> accesses;
  for (const Work& work : works) accesses.push_back(accesses_of(graph_.nodes[work.node]));
  for (const std::vector<size_t>& wave : waves_of(accesses, options_.profile ? 1 : kWindow)) {
    if (commands != nullptr) barrier();
    for (const size_t w : wave) {
      const Work& work = works[w];
      const std::vector<KernelCall>& of_node = calls[work.node];
      const bool starts = work.first_call == 0, ends = work.end_call == of_node.size();
      if (commands == nullptr || (profile_.watchdog && flops > kSegmentFlops) ||
          (options_.profile && starts && recorded.nodes.size() % kProfiledPerBuffer == kProfiledPerBuffer - 1)) {
        if (commands != nullptr) record_together();
        open();
      }
      if (options_.profile && starts) {
        recorded.scope = recorded.profilers.back()->begin(*commands, graph_.nodes[work.node].op->name);
        recorded.nodes.push_back(work.node);
      }
      for (size_t k = work.first_call; k < work.end_call; ++k)
        together.push_back(bind(of_node[k], [this](const BufferRef& ref) { return address_of(ref); }));
      if (options_.profile) record_together();
      if (options_.profile && ends) recorded.profilers.back()->end(*commands, recorded.scope);
      if (starts) flops += flops_of(graph_, graph_.nodes[work.node]);
    }
    record_together();
  }
  if (commands != nullptr) commands->finish();
}

void Program::write_input(std::string_view name, std::span<const std::byte> bytes) {
  const ValueId id = graph_.by_name(name);
  LEMNOS_CHECK(graph_[id].kind == ValueKind::input, "{} is not an input", name);
  const Place& place = plan_.places[id.index];
  LEMNOS_CHECK(static_cast<int64_t>(bytes.size()) == place.bytes, "input {}: {} bytes written, {} planned",
               name, bytes.size(), place.bytes);
  wait();
  std::memcpy(storage_.input_bytes() + place.offset, bytes.data(), bytes.size());
}

void Program::run(Section section) {
  for (const auto& buffer : sections_[section].buffers)
    last_submit_ = storage_.device().queue().submit(*buffer);
}

void Program::wait() {
  if (last_submit_ != 0) storage_.device().queue().wait(last_submit_);
}

std::vector<std::byte> Program::read(ValueId id) {
  wait();
  Place place = place_of(id);
  place.bytes = graph_.bytes(id);
  return storage_.read(place);
}

std::vector<Program::NodeTime> Program::times(Section section) {
  const Recorded& recorded = sections_[section];
  std::vector<NodeTime> times;
  for (const auto& profiler : recorded.profilers)
    for (const vk::Profiler::Scope& scope : profiler->read()) {
      const Node& node = graph_.nodes[recorded.nodes[times.size()]];
      times.push_back({node.op->name, node.scope, scope.ms, flops_of(graph_, node)});
    }
  return times;
}

int64_t Program::dispatch_count(Section section) const {
  const auto found = sections_.find(section);
  return found == sections_.end() ? 0 : found->second.dispatches;
}

}  // namespace lemnos
