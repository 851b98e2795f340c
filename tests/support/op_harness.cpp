#include "support/op_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "runtime/program.h"

namespace lemnos::test {
namespace {

uint16_t to_half_bits(double value, DType dtype) {
  if (dtype == DType::bf16) {
    uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    bits += 0x7fff + ((bits >> 16) & 1);
    return static_cast<uint16_t>(bits >> 16);
  }
  return std::bit_cast<uint16_t>(static_cast<_Float16>(static_cast<float>(value)));
}

double from_half_bits(uint16_t bits, DType dtype) {
  if (dtype == DType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  return static_cast<double>(static_cast<float>(std::bit_cast<_Float16>(bits)));
}

template <typename T>
void append(std::vector<std::byte>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <typename T>
T read_at(const std::vector<std::byte>& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

}  // namespace

HostTensor narrow(HostTensor tensor, DType dtype) {
  for (double& x : tensor.data) x = from_half_bits(to_half_bits(x, dtype), dtype);
  return tensor;
}

std::vector<std::byte> encode(const HostTensor& tensor, DType dtype) {
  std::vector<std::byte> out;
  out.reserve(tensor.data.size() * static_cast<size_t>(byte_size(dtype)));
  for (const double x : tensor.data) {
    if (dtype == DType::f32) append(out, static_cast<float>(x));
    if (dtype == DType::i32) append(out, static_cast<int32_t>(static_cast<int64_t>(x)));
    if (byte_size(dtype) == 2) append(out, to_half_bits(x, dtype));
  }
  return out;
}

HostTensor decode(const Shape& shape, DType dtype, const std::vector<std::byte>& bytes) {
  HostTensor tensor{shape, {}};
  const auto count = static_cast<size_t>(element_count(shape));
  for (size_t i = 0; i < count; ++i) {
    if (dtype == DType::f32) tensor.data.push_back(static_cast<double>(read_at<float>(bytes, i)));
    if (dtype == DType::i32) tensor.data.push_back(read_at<int32_t>(bytes, i));
    if (byte_size(dtype) == 2) tensor.data.push_back(from_half_bits(read_at<uint16_t>(bytes, i), dtype));
  }
  return tensor;
}

struct DeviceRun::Parts {
  Parts(Graph graph, ArenaPlan arena, StoragePlan plan, bool gpu_path)
      : storage(test_device(), std::move(plan), sizes(arena)),
        program(storage, test_pipelines(), std::move(graph), std::move(arena), {.gpu_path = gpu_path}) {}

  static ArenaSizes sizes(const ArenaPlan& arena) {
    const ArenaPlan* arenas[] = {&arena};
    return merge_arenas(arenas);
  }

  Storage storage;
  Program program;
};

DeviceRun::~DeviceRun() = default;

DeviceRun::DeviceRun(Graph graph, bool gpu_path, bool alias) {
  const PlanOptions options{.alias = alias};
  const Graph* graphs[] = {&graph};
  StoragePlan plan = plan_storage(graphs, options);
  ArenaPlan arena = plan_arena(graph, options);
  parts_ = std::make_unique<Parts>(std::move(graph), std::move(arena), std::move(plan), gpu_path);
  for (const ValueId id : parts_->program.graph().of_kind(ValueKind::state))
    parts_->storage.clear(parts_->program.graph()[id].name);
}

void DeviceRun::set(std::string_view name, const HostTensor& tensor) {
  const Graph& graph = parts_->program.graph();
  const ValueId id = graph.by_name(name);
  LEMNOS_CHECK(tensor.shape == graph.shape(id), "{}", name);
  const std::vector<std::byte> bytes = encode(tensor, graph.dtype(id));
  if (graph[id].kind == ValueKind::input)
    parts_->program.write_input(name, bytes);
  else
    parts_->storage.write(name, bytes);
}

void DeviceRun::run() {
  for (const Section section : kSections)
    parts_->program.run(section);
  parts_->program.wait();
}

HostTensor DeviceRun::get(ValueId id) {
  const Graph& graph = parts_->program.graph();
  return decode(graph.shape(id), graph.dtype(id), parts_->program.read(id));
}

HostTensor DeviceRun::get(std::string_view name) { return get(parts_->program.graph().by_name(name)); }

namespace {

struct Built {
  Graph graph;
  std::map<std::string, ValueId> compared;  // by a readable label
};

Built build_case(const OpCase& test) {
  Built built;
  Builder builder(built.graph);
  const std::vector<ValueId> outputs = test.build(builder);
  for (size_t i = 0; i < outputs.size(); ++i) built.compared[format("output {}", i)] = outputs[i];
  std::vector<ValueId> wanted;
  for (const std::string& name : test.wanted) wanted.push_back(built.graph.by_name(name));
  if (!wanted.empty()) {
    Autodiff autodiff(builder, wanted);
    autodiff.add(outputs[0], builder.input("test.dy", built.graph.shape(outputs[0]), DType::f32));
    autodiff.run();
    for (const std::string& name : test.wanted)
      built.compared["gradient of " + name] = autodiff.gradient(built.graph.by_name(name));
  }
  for (const std::string& name : test.states) built.compared["state " + name] = built.graph.by_name(name);
  for (const auto& [label, id] : built.compared) built.graph.results.push_back(id);
  return built;
}

template <typename Run>
void set_all(Run& run, const OpCase& test, const Built& built) {
  for (const auto& [name, tensor] : test.values) run.set(name, tensor);
  if (built.graph.find("test.dy").valid())
    run.set("test.dy", random_tensor(built.graph.shape(built.graph.by_name("test.dy")), 4711));
}

using Results = std::map<std::string, HostTensor>;

Results run_device(const OpCase& test, const Built& built, bool gpu_path, bool alias) {
  DeviceRun run(built.graph, gpu_path, alias);
  set_all(run, test, built);
  run.run();
  Results results;
  for (const auto& [label, id] : built.compared) results[label] = run.get(id);
  return results;
}

void compare(const Results& device, const Results& truth, const OpCase& test, const std::string& path) {
  for (const auto& [label, expected] : truth) {
    const HostTensor& got = device.at(label);
    double largest = 0, worst = 0;
    size_t at = 0;
    for (const double x : expected.data) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < expected.data.size(); ++i) {
      const double error = std::abs(got.data[i] - expected.data[i]);
      if (!(error <= worst)) worst = error, at = i;
    }
    const double allowed = test.ulps * std::ldexp(std::max(largest, test.magnitude), -24);
    EXPECT_LE(worst, allowed) << path << ": " << label << " element " << at << " is "
                              << got.data[at] << ", not " << expected.data[at] << " (largest "
                              << largest << ")";
  }
}

void expect_same_bits(const Results& a, const Results& b, const std::string& what) {
  for (const auto& [label, tensor] : a) {
    const HostTensor& other = b.at(label);
    EXPECT_EQ(std::memcmp(tensor.data.data(), other.data.data(), 8 * tensor.data.size()), 0) << what << ": " << label;
  }
}

}  // namespace

void check_op(const OpCase& test) {
  const Built built = build_case(test);
  Interpreter interpreter(built.graph);
  set_all(interpreter, test, built);
  interpreter.run();
  Results truth;
  for (const auto& [label, id] : built.compared) truth[label] = interpreter.get(id);

  std::vector<bool> paths{true};
  if (test_device().cpu_path()) paths.push_back(false);
  for (const bool gpu_path : paths) {
    const std::string path = gpu_path ? "GPU kernels" : "CPU kernels";
    const Results first = run_device(test, built, gpu_path, true);
    compare(first, truth, test, path);
    expect_same_bits(first, run_device(test, built, gpu_path, true), path + ", second run");
    expect_same_bits(first, run_device(test, built, gpu_path, false), path + ", without memory sharing");
  }
  if (test.finite_differences && !test.wanted.empty())
    check_gradients({[&](Builder& b) { return test.build(b)[0]; }, test.values, test.wanted});
}

}  // namespace lemnos::test
