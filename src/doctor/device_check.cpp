#include "doctor/device_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "doctor/tolerance.h"
#include "runtime/record_call.h"
#include "vk/queue.h"

namespace lemnos::doctor {
namespace {

constexpr uint64_t kGuardBytes = 4096;
constexpr uint32_t kGuardWord = 0xC0FFEE11;
constexpr uint32_t kUnwritten = 0xFFC0DEAD;  // not a number; negative as an integer

uint64_t value_bytes(const Graph& graph, size_t value) {
  const int64_t bytes = graph.bytes({static_cast<uint32_t>(value)});
  return (static_cast<uint64_t>(bytes) + 3) / 4 * 4;
}

/// Where each value is stored: itself, or the state it updates.
std::vector<size_t> apart(const Graph& graph) {
  std::vector<size_t> stored_in(graph.values.size());
  const std::vector<ValueId> roots = persistent_roots(graph);
  for (size_t v = 0; v < stored_in.size(); ++v) stored_in[v] = roots[v].valid() ? roots[v].index : v;
  return stored_in;
}

/// Outputs that the op may write over a dying input do so.
std::vector<size_t> shared(const SingleNode& single) {
  std::vector<size_t> stored_in = apart(single.graph);
  std::vector<bool> taken(stored_in.size(), false);
  const Node& node = single.node();
  for (const auto& [output, input] : node.op->inplace) {
    const auto o = static_cast<size_t>(output), i = static_cast<size_t>(input);
    if (o >= node.outputs.size() || i >= node.inputs.size() || !node.inputs[i].valid()) continue;
    const size_t from = node.inputs[i].index, to = node.outputs[o].index;
    const bool fits = value_bytes(single.graph, from) == value_bytes(single.graph, to);
    if (stored_in[to] != to || taken[from] || !fits) continue;
    stored_in[to] = from;
    taken[from] = true;
  }
  return stored_in;
}

/// A stretch of an output that is read back.
struct Window {
  uint64_t first, bytes;
};

/// Small outputs and those compared in full are read whole, large ones where they are compared.
std::vector<Window> windows_of(const Expected& expected, uint64_t bytes, uint64_t element) {
  constexpr uint64_t kWhole = 16 << 20, kGap = 64 << 10;
  if (expected.at.empty() || bytes <= kWhole) return {{0, bytes}};
  std::vector<Window> windows;
  for (const int64_t at : expected.at) {  // ascending
    const uint64_t first = static_cast<uint64_t>(at) * element;
    if (windows.empty() || first > windows.back().first + windows.back().bytes + kGap) windows.push_back({first, 0});
    windows.back().bytes = first + element - windows.back().first;
  }
  return windows;
}

/// Later runs are compared with the first in so many bytes of an output at most.
std::vector<Window> cut(std::vector<Window> windows) {
  uint64_t left = 64 << 20;
  for (Window& window : windows) {
    window.bytes = std::min(window.bytes, left);
    left -= window.bytes;
  }
  return windows;
}

class Comparison {
 public:
  Comparison(const Expected& expected, std::string_view op) : expected_(expected), tolerance_(tolerance_of(op, expected.output)) {
    for (const double x : expected.values) largest_ = std::max(largest_, std::abs(x));
  }

  /// All that is expected within the windows that `got` concatenates.
  void compare(const std::vector<std::byte>& got, const std::vector<Window>& windows, DType dtype, Finding& finding) const {
    const auto element = static_cast<uint64_t>(byte_size(dtype));
    size_t window = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < expected_.values.size(); ++i) {
      const int64_t at = expected_.at.empty() ? static_cast<int64_t>(i) : expected_.at[i];
      const uint64_t byte = static_cast<uint64_t>(at) * element;
      while (byte >= windows[window].first + windows[window].bytes) before += windows[window++].bytes;
      note(at, decode(got, dtype, static_cast<int64_t>((before + byte - windows[window].first) / element)), expected_.values[i], finding);
    }
  }

 private:
  void note(int64_t at, double value, double wanted, Finding& finding) const {
    const double error = std::abs(value - wanted), allowed = allowed_error(tolerance_, wanted, largest_);
    const double ratio = error == 0 ? 0.0 : allowed > 0 ? error / allowed : HUGE_VAL;
    if (ratio > finding.worst) finding.worst = ratio, finding.error = error;
    ++finding.compared;
    if (!(error <= allowed) && finding.fault.empty())
      finding.fault = format("output {} element {} is {}, expected {} (off by {:.3g}, allowed {:.3g})", expected_.output, at, value,
                             wanted, error, allowed);
  }

  const Expected& expected_;
  Tolerance tolerance_;
  double largest_ = 0;
};

std::vector<std::byte> read(vk::Transfer& transfer, const vk::Buffer& buffer, const std::vector<Window>& windows) {
  size_t bytes = 0;
  for (const Window& window : windows) bytes += window.bytes;
  std::vector<std::byte> got(bytes);
  size_t at = 0;
  for (const Window& window : windows) {
    transfer.download(buffer, kGuardBytes + window.first, std::span(got).subspan(at, window.bytes));
    at += window.bytes;
  }
  return got;
}

/// The inputs are finite, so an attribute (an epsilon, a scale) leads out of the numbers.
Finding without_answer(const std::vector<Expected>& expected) {
  Finding finding;
  for (const Expected& e : expected)
    for (size_t i = 0; i < e.values.size() && !finding.no_answer; ++i)
      if (!std::isfinite(static_cast<float>(e.values[i]))) {
        finding.no_answer = true;
        finding.fault = format("the reference's output {} element {} is {}", e.output, e.at.empty() ? static_cast<int64_t>(i) : e.at[i], e.values[i]);
      }
  return finding;
}

}  // namespace

DeviceCheck::DeviceCheck(vk::Device& device, vk::PipelineCache& pipelines, const DeviceProfile& profile)
    : device_(device), pipelines_(pipelines), profile_(profile), transfer_(device) {}

const vk::Buffer& DeviceCheck::pool(Pool which) {
  std::optional<vk::Buffer>& buffer = pools_[static_cast<size_t>(which)];
  if (!buffer) {
    const std::vector<std::byte> bytes = pool_bytes(which);
    buffer.emplace(device_, bytes.size(), vk::MemoryKind::device, "the kernel check's numbers");
    transfer_.upload(bytes, *buffer);
  }
  return *buffer;
}

void DeviceCheck::fill_from_pool(vk::CommandBuffer& commands, const InputValues& from, const Place& to) {
  const auto size = static_cast<uint64_t>(byte_size(from.dtype)), count = static_cast<uint64_t>(element_count(from.shape));
  const vk::Buffer& source = pool(from.pool);
  uint64_t first = static_cast<uint64_t>(from.first);
  for (uint64_t done = 0; done < count;) {
    const uint64_t part = std::min(count - done, static_cast<uint64_t>(kPoolSize) - first);
    commands.copy(source, first * size, to.buffer, kGuardBytes + done * size, part * size);
    done += part;
    first = 0;
  }
}

DeviceCheck::Place DeviceCheck::make_place(uint64_t bytes, const InputValues* contents) {
  Place place{vk::Buffer(device_, bytes + 2 * kGuardBytes, vk::MemoryKind::device, "the kernel check"), bytes, {}};
  if (contents == nullptr || contents->numbers.empty()) return place;
  const std::vector<std::byte> numbers = encode(contents->numbers, contents->dtype);
  place.numbers.emplace(device_, numbers.size(), vk::MemoryKind::device, "the kernel check");
  transfer_.upload(numbers, *place.numbers);
  return place;
}

void DeviceCheck::record(vk::CommandBuffer& commands, const Recording& r, const std::vector<size_t>& stored_in) {
  for (size_t v = 0; v < r.places.size(); ++v) {
    const Place& place = r.places[v];
    commands.fill(place.buffer, 0, kGuardBytes, kGuardWord);
    commands.fill(place.buffer, kGuardBytes + place.bytes, kGuardBytes, kGuardWord);
    if (r.contents[v] == nullptr && place.bytes > 0) commands.fill(place.buffer, kGuardBytes, place.bytes, kUnwritten);
    if (r.contents[v] == nullptr) continue;
    if (place.numbers) commands.copy(*place.numbers, 0, place.buffer, kGuardBytes, place.numbers->size());
    else fill_from_pool(commands, *r.contents[v], place);
  }
  for (size_t n = 0; n < r.calls.size(); ++n) {
    const KernelCall& call = r.calls[n];
    if (n == 0 || !call.independent) commands.barrier();
    record_call(commands, pipelines_, bind(call, [&](const BufferRef& ref) -> uint64_t {
      if (!ref.value.valid()) return 0;
      return r.places[stored_in[ref.value.index]].buffer.address() + kGuardBytes + static_cast<uint64_t>(ref.byte_offset);
    }));
  }
  commands.finish();
}

std::string DeviceCheck::damaged_guard(const Place& place, size_t value) {
  std::array<uint32_t, kGuardBytes / 4> words;
  for (const bool behind : {false, true}) {
    transfer_.download(place.buffer, behind ? kGuardBytes + place.bytes : 0, vk::writable_bytes_of(words));
    if (std::any_of(words.begin(), words.end(), [](uint32_t word) { return word != kGuardWord; }))
      return format("it wrote {} tensor {}", behind ? "behind the end of" : "before the start of", value);
  }
  return {};
}

Finding DeviceCheck::run(const KernelCase& c, const std::vector<InputValues>& inputs, const std::vector<Expected>& expected, int runs) {
  if (Finding finding = without_answer(expected); finding.no_answer) return finding;
  const SingleNode single = instantiate(c);
  const Graph& graph = single.graph;
  const std::vector<KernelCall> calls = c.op->dispatch({graph, single.node(), profile_});
  std::vector<const InputValues*> contents(graph.values.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (c.inputs[i]) contents[single.node().inputs[i].index] = &inputs[i];
  std::vector<Place> places;
  for (size_t v = 0; v < graph.values.size(); ++v) places.push_back(make_place(value_bytes(graph, v), contents[v]));
  const Recording recording{single, calls, contents, places};
  const std::array<std::vector<size_t>, 2> stored_in{shared(single), apart(graph)};
  vk::CommandBuffer first(device_), second(device_);
  record(first, recording, stored_in[0]);
  record(second, recording, stored_in[1]);

  Finding finding;
  std::vector<std::vector<std::byte>> kept(expected.size());
  for (int turn = 0; turn < runs && finding.fault.empty(); ++turn) {
    device_.queue().wait(device_.queue().submit(turn % 2 == 0 ? first : second));
    for (size_t v = 0; v < places.size() && finding.fault.empty(); ++v) finding.fault = damaged_guard(places[v], v);
    for (size_t i = 0; i < expected.size() && finding.fault.empty(); ++i) {
      const ValueId id = single.node().outputs[expected[i].output];
      const vk::Buffer& buffer = places[stored_in[static_cast<size_t>(turn % 2)][id.index]].buffer;
      const DType dtype = graph.dtype(id);
      const std::vector<Window> windows =
          windows_of(expected[i], static_cast<uint64_t>(graph.bytes(id)), static_cast<uint64_t>(byte_size(dtype)));
      const std::vector<std::byte> got = read(transfer_, buffer, turn == 0 ? windows : cut(windows));
      if (turn == 0) {
        Comparison(expected[i], c.op->name).compare(got, windows, dtype, finding);
        kept[i] = got;
      } else if (!std::equal(got.begin(), got.end(), kept[i].begin())) {
        finding.fault = format("run {} gave other bits than the first in output {}", turn + 1, expected[i].output);
      }
    }
  }
  return finding;
}

}  // namespace lemnos::doctor
