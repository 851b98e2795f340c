#include "doctor/kernel_case.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "graph/builder.h"
#include "ops/attention/tiles.h"
#include "vk/shaders.h"

namespace lemnos::doctor {
namespace {

/// Sums and copies of any number of tensors are checked with this many of different sizes.
constexpr size_t kMostParts = 3;
/// Segments of a batch in attention's table.
constexpr int64_t kSegments = 4;

/// Tiles of every kernel divide it, so that a size and its remainder behave alike at the edges.
int64_t tile_multiple(const KernelCase& c, const DeviceProfile& device) {
  if (c.axes->by_tiles) return kAttentionTile;
  return device.cpu_path ? 192 : 128;
}

std::vector<std::string> kernels_of(const std::vector<KernelCall>& calls) {
  std::vector<std::string> kernels;
  for (const KernelCall& call : calls) {
    std::string text = call.shader + "(";
    for (size_t i = 0; i < call.constants.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(call.constants[i]);
    text += ")";
    if (std::find(kernels.begin(), kernels.end(), text) == kernels.end()) kernels.push_back(std::move(text));
  }
  return kernels;
}

/// Empty when the op does not take these sizes.
std::vector<std::string> kernels_at(const KernelCase& c, const Sizes& sizes, const DeviceProfile& device) {
  try {
    const SingleNode single = instantiate(c, sizes);
    return kernels_of(c.op->dispatch({single.graph, single.node(), device}));
  } catch (const InternalError&) {
    return {};
  } catch (const Error&) {
    return {};
  }
}

double elements_of(const SingleNode& single) {
  double elements = 0;
  for (const Value& value : single.graph.values) elements += static_cast<double>(element_count(value.type.shape));
  return elements;
}

/// A kernel moves an element in about the time of so many products.
constexpr double kWorkPerElement = 8;

double work_of(const SingleNode& single) {
  const double flops = single.node().op->flops == nullptr ? 0.0 : single.node().op->flops(single.graph, single.node());
  return flops + kWorkPerElement * elements_of(single);
}

double work_at(const KernelCase& c, const Sizes& sizes) { return work_of(instantiate(c, sizes)); }

bool is_fixed(const KernelCase& c, char axis) {
  if (axis == 'w') return true;  // follows the rows, see with_size
  for (const auto& [name, attribute] : c.axes->attributes)
    if (attribute == axis && name != "first" && name != "count" && name != "vocabulary") return true;
  return false;
}

Sizes with_size(const KernelCase& c, Sizes sizes, char axis, int64_t size) {
  sizes[axis] = size;
  if (c.axes->by_tiles) sizes['w'] = attention_tile_count(sizes['m'], kSegments);
  return sizes;
}

std::vector<char> by_size(const Sizes& sizes) {
  std::vector<char> axes;
  for (const auto& [axis, size] : sizes) axes.push_back(axis);
  std::stable_sort(axes.begin(), axes.end(), [&](char a, char b) { return sizes.at(a) > sizes.at(b); });
  return axes;
}

int64_t remainder(int64_t size, int64_t multiple) { return size % multiple == 0 ? std::min(size, multiple) : size % multiple; }

/// Attention's heads do not know of each other; groups of more than one share their sums.
Sizes with_few_heads(const KernelCase& c, Sizes sizes, const DeviceProfile& device) {
  Sizes fewer = sizes;
  fewer['g'] = std::min<int64_t>(sizes.at('g'), 2);
  fewer['q'] = std::min<int64_t>(sizes.at('q'), 4);
  return kernels_at(c, fewer, device) == c.kernels ? fewer : sizes;
}

/// The smallest sizes with the same kernels, a whole tile and the same remainder, one axis after the
/// other.
Sizes shrink(const KernelCase& c, const DeviceProfile& device) {
  const int64_t multiple = tile_multiple(c, device);
  Sizes sizes = c.sizes;
  for (const char axis : by_size(c.sizes)) {
    const int64_t whole = c.sizes.at(axis), rest = remainder(whole, multiple);
    if (is_fixed(c, axis)) continue;
    for (int64_t tiles = rest < multiple ? 1 : 0; rest + tiles * multiple < whole; tiles = std::max<int64_t>(1, 2 * tiles)) {
      const Sizes smaller = with_size(c, sizes, axis, rest + tiles * multiple);
      if (kernels_at(c, smaller, device) != c.kernels) continue;
      sizes = smaller;
      break;
    }
  }
  return c.axes->by_tiles ? with_few_heads(c, std::move(sizes), device) : sizes;
}

/// Halves the largest axis that allows it until the work is within the limits.
Sizes cut_down(const KernelCase& c, const DeviceProfile& device, double most) {
  const int64_t multiple = tile_multiple(c, device);
  Sizes sizes = c.sizes;
  while (work_at(c, sizes) > most) {
    bool cut = false;
    for (const char axis : by_size(sizes)) {
      const int64_t size = sizes.at(axis), rest = remainder(size, multiple);
      const int64_t half = rest + (size - rest) / 2 / multiple * multiple;
      if (is_fixed(c, axis) || half >= size) continue;
      const Sizes smaller = with_size(c, sizes, axis, half);
      if (kernels_at(c, smaller, device) != c.kernels) continue;
      sizes = smaller;
      cut = true;
      break;
    }
    if (!cut) break;
  }
  return sizes;
}

/// Inputs beyond what an op of any number of them is checked with.
bool is_part_too_many(const Graph& graph, const Node& node, size_t input, std::set<Shape>& parts) {
  const std::string_view op = node.op->name;
  if (op != "clip_gradients" && op != "concat_rows") return false;
  if (op == "clip_gradients" && input < 3) return false;
  return parts.size() >= kMostParts || !parts.insert(graph.shape(node.inputs[input])).second;
}

KernelCase case_of(const Graph& graph, const std::vector<ValueId>& roots, const Node& node) {
  KernelCase c{.op = node.op, .attrs = node.attrs};
  Node kept = node;
  kept.inputs.clear();
  std::set<Shape> parts;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].valid() && is_part_too_many(graph, node, i, parts)) continue;
    kept.inputs.push_back(node.inputs[i]);
    if (!node.inputs[i].valid()) {
      c.inputs.emplace_back();
      continue;
    }
    Value value = graph[node.inputs[i]];
    const ValueId root = roots[node.inputs[i].index];
    value.kind = root.valid() ? graph[root].kind : ValueKind::input;
    value.trainable = value.kind == ValueKind::parameter && node.op->updates_parameters;
    value.name = format("input {}", i);
    c.inputs.emplace_back(std::move(value));
  }
  OpAxes axes;
  if (find_axes(kept, axes) == nullptr) return c;
  c.axes = axes;
  c.sizes = sizes_of(axes, graph, kept);
  return c;
}

/// What tells nodes apart before anything is worked out about them.
std::string text_of(const KernelCase& c) {
  std::string text = format("{} {}", c.op->name, to_string(c.attrs));
  for (const auto& input : c.inputs)
    text += input ? format(" {}{}{}", name_of(input->type.dtype), to_string(input->type.shape), static_cast<int>(input->kind)) : " -";
  return text;
}

/// The same kernels, used in the same way: all that is left to differ are sizes.
std::string use_of(const KernelCase& c) {
  Sizes none;
  if (c.axes)
    for (const auto& [name, axis] : c.axes->attributes) none[axis] = 0;
  std::vector<std::pair<std::string, AttrValue>> items = (c.axes ? attrs_with(*c.axes, c.attrs, none) : c.attrs).items();
  std::erase_if(items, [](const auto& item) { return item.first == "site"; });  // a counter's bits
  std::string text = format("{} {}", c.op->name, to_string(Attrs::of(std::move(items))));
  for (const std::string& kernel : c.kernels) text += " " + kernel;
  for (const auto& input : c.inputs) text += input ? format(" {}", name_of(input->type.dtype)) : " -";
  return text;
}

uint64_t hash_of(std::span<const std::byte> content) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const std::byte byte : content) hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  return hash;
}

uint64_t spirv_hash(const std::string& kernel) {
  const std::string shader = kernel.substr(0, kernel.find('('));
  for (const vk::Shader& one : vk::shaders())
    if (one.name == shader) return hash_of(std::as_bytes(one.words));
  return 0;
}

/// Changes with every build of this program.
std::string build_stamp() {
  struct stat file {};
  if (::stat("/proc/self/exe", &file) != 0) return LEMNOS_VERSION;
  return format("{} {} {}.{}", LEMNOS_VERSION, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

/// A use and its kernels' code; with the sizes and what the host tells the kernels when compared in
/// full, else with the build and the class of the work, so that another batch of about the size is no
/// new case.
std::string key_of(const KernelCase& c, const std::string& use, const DeviceProfile& device) {
  std::string text = format("{} {}", LEMNOS_VERSION, use);
  for (const std::string& kernel : c.kernels) text += format(" {:016x}", spirv_hash(kernel));
  const SingleNode single = instantiate(c);
  if (c.sampled) {
    text += format(" sampled {} {}", static_cast<int>(std::log2(work_of(single))) / 2, build_stamp());
  } else {
    text += c.sizes_text();
    for (const KernelCall& call : c.op->dispatch({single.graph, single.node(), device})) {
      text.append(reinterpret_cast<const char*>(call.push.data()), call.push.size());
      text.append(reinterpret_cast<const char*>(call.groups.data()), sizeof call.groups);
    }
  }
  return format("{:016x}", hash_of(std::as_bytes(std::span(text))));
}

class Collector {
 public:
  explicit Collector(const DeviceProfile& device) : device_(device), limits_(limits_for(device)) {}

  void add(const Graph& graph) {
    const std::vector<ValueId> roots = persistent_roots(graph);
    for (const Node& node : graph.nodes) {
      KernelCase c = case_of(graph, roots, node);
      if (node.op->is_view || !seen_.insert(text_of(c)).second) continue;
      add(std::move(c));
    }
  }

  std::vector<KernelCase> take() {
    for (auto& [use, largest] : largest_) add_sampled(use, std::move(largest));
    return std::move(cases_);
  }

 private:
  void add(KernelCase c) {
    if (!c.axes) {
      c.key = text_of(c);
      cases_.push_back(std::move(c));
      return;
    }
    c.kernels = kernels_at(c, c.sizes, device_);
    if (c.kernels.empty()) {  // nothing runs, or dispatch refuses: then the run itself ends there too
      const SingleNode single = instantiate(c);
      c.kernels = kernels_of(c.op->dispatch({single.graph, single.node(), device_}));
      if (c.kernels.empty()) return;
    }
    const std::string use = use_of(c);
    KernelCase small = c;
    small.sizes = shrink(c, device_);
    small.smaller = small.sizes != c.sizes;
    if (work_at(small, small.sizes) <= limits_.full_work) keep(std::move(small), use);
    const auto [found, fresh] = largest_.try_emplace(use, c);
    if (!fresh && work_at(c, c.sizes) > work_at(found->second, found->second.sizes)) found->second = std::move(c);
  }

  void add_sampled(const std::string& use, KernelCase c) {
    const bool reference_samples = !c.axes->sampled.empty() || c.axes->by_tiles;
    const Sizes whole = c.sizes;
    c.sizes = cut_down(c, device_, reference_samples ? limits_.device_work : std::min(limits_.device_work, limits_.reference_work));
    c.smaller = c.sizes != whole;
    if (full_.contains(use + c.sizes_text())) return;  // compared in full already
    c.sampled = reference_samples;
    keep(std::move(c), use);
  }

  void keep(KernelCase c, const std::string& use) {
    if (!c.sampled && !full_.insert(use + c.sizes_text()).second) return;
    c.key = key_of(c, use, device_);
    cases_.push_back(std::move(c));
  }

  const DeviceProfile& device_;
  CaseLimits limits_;
  std::set<std::string> seen_, full_;
  std::map<std::string, KernelCase> largest_;
  std::vector<KernelCase> cases_;
};

/// First, last and some between that no tile's size divides.
std::vector<int64_t> spread(int64_t size, int64_t count) {
  if (count >= size) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::set<int64_t> chosen{0, size - 1};
  for (int64_t i = 1; i + 1 < count; ++i) chosen.insert((i * (size - 1) + 7 * i) / (count - 1) % size);
  return {chosen.begin(), chosen.end()};
}

constexpr int64_t kSamples = 4096;

}  // namespace

std::string KernelCase::sizes_text() const {
  std::string text;
  for (const auto& [axis, size] : sizes) text += format("{}{} {}", text.empty() ? "" : ", ", axis, size);
  return text;
}

SingleNode instantiate(const KernelCase& c, const Sizes& sizes) {
  SingleNode single;
  Builder builder(single.graph);
  std::vector<ValueId> ids;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!c.inputs[i]) {
      ids.emplace_back();
      continue;
    }
    const Value& value = *c.inputs[i];
    const Shape shape = c.axes ? shape_of(c.axes->inputs[i], sizes) : value.type.shape;
    if (value.kind == ValueKind::parameter) ids.push_back(builder.parameter(value.name, shape, value.type.dtype, value.trainable));
    else if (value.kind == ValueKind::state) ids.push_back(builder.state(value.name, shape, value.type.dtype));
    else ids.push_back(builder.input(value.name, shape, value.type.dtype));
  }
  builder.emit(*c.op, std::move(ids), c.axes ? attrs_with(*c.axes, c.attrs, sizes) : c.attrs);
  return single;
}

SingleNode instantiate(const KernelCase& c) { return instantiate(c, c.sizes); }

CaseLimits limits_for(const DeviceProfile& device) {
  // lavapipe on two cores makes 2e10 products a second; a GPU from 4e11 (integrated) to 4e13.
  return {.device_work = device.is_cpu ? 2e8 : 3e11};
}

std::vector<KernelCase> collect_cases(std::span<const Graph* const> graphs, const DeviceProfile& device) {
  Collector collector(device);
  for (const Graph* graph : graphs) collector.add(*graph);
  return collector.take();
}

std::map<char, std::vector<int64_t>> sampled_indices(const KernelCase& c) {
  std::map<char, std::vector<int64_t>> indices;
  if (!c.sampled || !c.axes || c.axes->sampled.empty()) return indices;
  const SingleNode single = instantiate(c);
  double whole = 0, sampled = 1;
  for (size_t i = 0; i < single.node().outputs.size(); ++i)
    if (c.axes->outputs[i].compared)
      whole = std::max(whole, static_cast<double>(element_count(single.graph.shape(single.node().outputs[i]))));
  for (const char axis : c.axes->sampled) sampled *= static_cast<double>(c.sizes.at(axis));
  const double each = std::max(1.0, whole / sampled);  // elements that go with one index of all sampled axes
  auto wanted = static_cast<int64_t>(std::max(8.0, kSamples / each));
  const double cost_of_one = work_of(single) / sampled;
  wanted = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(8, static_cast<int64_t>(CaseLimits().reference_work / cost_of_one)));
  int64_t left = wanted;
  for (size_t i = 0; i < c.axes->sampled.size(); ++i) {
    const char axis = c.axes->sampled[i];
    const bool last = i + 1 == c.axes->sampled.size();
    int64_t count = 1;
    if (last) count = left;
    else while (count * count < left) ++count;
    count = std::clamp<int64_t>(count, 2, std::max<int64_t>(2, c.sizes.at(axis)));
    indices[axis] = spread(c.sizes.at(axis), count);
    left = std::max<int64_t>(2, left / count);
  }
  return indices;
}

std::vector<int64_t> sampled_rows(const KernelCase& c) {
  const int64_t rows = c.sizes.at('m');
  if (!c.sampled) return spread(rows, rows);
  const int64_t width = c.sizes.at('g') * c.sizes.at('q') * c.sizes.at('d');
  return spread(rows, std::clamp<int64_t>(4 * kSamples / width, 8, 64));
}

}  // namespace lemnos::doctor
