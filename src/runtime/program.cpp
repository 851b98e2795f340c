#include "runtime/program.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runtime/profile.h"
#include "vk/device.h"
#include "vk/queue.h"

namespace lemnos {
namespace {

/// Work per submit on devices with a watchdog: about 0.3 s on an integrated GPU that reaches 0.4
/// TFLOP/s, well under the 2 s after which drivers give up.
constexpr double kSegmentFlops = 1.2e11;
constexpr uint32_t kProfiledPerBuffer = 2048;

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

Place Program::place_of(ValueId id) const {
  const ValueId root = roots_[id.index];
  return root.valid() ? storage_.place(graph_[root].name) : plan_.places[id.index];
}

uint64_t Program::address_of(const BufferRef& ref) const {
  if (!ref.value.valid()) return 0;
  return storage_.address(place_of(ref.value)) + static_cast<uint64_t>(ref.byte_offset);
}

Program::Span Program::span_of(ValueId id) const {
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

bool Program::must_wait(const Node& node) const {
  const auto hits = [](const std::vector<Span>& pending, const Span& span) {
    return std::any_of(pending.begin(), pending.end(),
                       [&](const Span& p) { return p.first < span.end && span.first < p.end; });
  };
  for (const ValueId in : node.inputs)
    if (in.valid() && hits(pending_writes_, span_of(in))) return true;
  for (const ValueId out : node.outputs)
    if (hits(pending_writes_, span_of(out)) || hits(pending_reads_, span_of(out))) return true;
  return false;
}

void Program::note_accesses(const Node& node) {
  for (const ValueId in : node.inputs)
    if (in.valid()) pending_reads_.push_back(span_of(in));
  for (const ValueId out : node.outputs) pending_writes_.push_back(span_of(out));
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
    pending_reads_.clear();
    pending_writes_.clear();
    flops = 0;
  };
  const auto barrier = [&] {
    commands->barrier();
    ++recorded.barriers;
    pending_reads_.clear();
    pending_writes_.clear();
  };
  // For `update` too, which may be all there is: inputs change with each run of `micro`.
  if (section == Section::micro && storage_.input_staging() != nullptr && plan_.input_bytes > 0) {
    open();
    commands->copy(*storage_.input_staging(), 0, storage_.input_block(), 0, static_cast<uint64_t>(plan_.input_bytes));
    barrier();
  }
  uint32_t profiled = 0;
  for (size_t n = 0; n < graph_.nodes.size(); ++n) {
    const Node& node = graph_.nodes[n];
    if (node.section != section || calls[n].empty()) continue;
    if (commands == nullptr || (profile_.watchdog && flops > kSegmentFlops) ||
        (options_.profile && ++profiled % kProfiledPerBuffer == 0))
      open();
    if (must_wait(node) || options_.profile) barrier();
    uint32_t scope = 0;
    if (options_.profile) {
      scope = recorded.profilers.back()->begin(*commands, node.op->name);
      recorded.nodes.push_back(n);
    }
    for (size_t k = 0; k < calls[n].size(); ++k) {
      const KernelCall& call = calls[n][k];
      if (k > 0 && !call.independent) barrier();
      std::vector<std::byte> push = call.push;
      for (size_t i = 0; i < call.buffers.size(); ++i) {
        const uint64_t address = address_of(call.buffers[i]);
        std::memcpy(push.data() + 8 * i, &address, 8);
      }
      commands->dispatch(pipelines.get({call.shader, call.constants, 0}), push, call.groups);
      ++recorded.dispatches;
    }
    if (options_.profile) recorded.profilers.back()->end(*commands, scope);
    note_accesses(node);
    flops += flops_of(graph_, node);
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
