#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/memory_plan.h"
#include "graph/op.h"
#include "runtime/storage.h"
#include "runtime/waves.h"
#include "vk/pipeline.h"
#include "vk/profiler.h"
#include "vk/recorder.h"

namespace lemnos {

/// A graph recorded into command buffers, replayed every step. Nothing is recorded again: what
/// changes from step to step comes in through inputs.
class Program {
 public:
  struct Options {
    bool profile = false;  // time every node (see times())
    bool gpu_path = false;  // the GPU's kernels even on a CPU device (tests, verify --gpu-path)
  };

  /// Compiles the kernels and records each section. `storage` must outlive the program; graph and
  /// plan are kept as copies.
  Program(Storage& storage, vk::PipelineCache& pipelines, Graph graph, ArenaPlan plan, Options options);
  Program(Storage& storage, vk::PipelineCache& pipelines, Graph graph, ArenaPlan plan)
      : Program(storage, pipelines, std::move(graph), std::move(plan), Options()) {}

  /// Waits for what was submitted.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const Graph& graph() const { return graph_; }

  /// Sets an input for the next run of `micro`; waits until the device no longer reads the last.
  void write_input(std::string_view name, std::span<const std::byte> bytes);
  template <typename T>
  void write_input(std::string_view name, const std::vector<T>& values) {
    write_input(name, std::as_bytes(std::span(values)));
  }

  /// Submits a section; returns at once.
  void run(Section section);
  void wait();

  /// A value's bytes after wait(): a result, or a parameter or state (also through its updates).
  std::vector<std::byte> read(ValueId id);

  struct NodeTime {
    std::string op;
    std::string scope;
    double ms = 0;
    double flops = 0;
  };
  /// Device time of each node in the last run of a section; needs Options::profile.
  std::vector<NodeTime> times(Section section);

  /// Dispatches recorded for a section, barriers among them (printed by `plan --verbose`).
  int64_t dispatch_count(Section section) const;

 private:
  struct Recorded {
    std::vector<std::unique_ptr<vk::CommandBuffer>> buffers;
    std::vector<std::unique_ptr<vk::Profiler>> profilers;
    std::vector<size_t> nodes;  // indices of profiled nodes
    int64_t dispatches = 0;
    int64_t barriers = 0;
    uint32_t scope = 0;  // of the profiler, open
  };
  /// Calls of a node that need not wait for each other.
  struct Work {
    size_t node = 0;
    size_t first_call = 0, end_call = 0;
  };

  Place place_of(ValueId id) const;
  uint64_t address_of(const BufferRef& ref) const;
  Span span_of(ValueId id) const;
  std::vector<std::vector<KernelCall>> dispatch_all(vk::PipelineCache& pipelines) const;
  void record(Section section, const std::vector<std::vector<KernelCall>>& calls, vk::PipelineCache& pipelines);
  std::vector<Work> works_of(Section section, const std::vector<std::vector<KernelCall>>& calls) const;
  Accesses accesses_of(const Node& node) const;

  Storage& storage_;
  Graph graph_;
  ArenaPlan plan_;
  Options options_;
  DeviceProfile profile_;
  std::vector<ValueId> roots_;
  std::map<Section, Recorded> sections_;
  uint64_t last_submit_ = 0;
};

}  // namespace lemnos
