#include "graph/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/error.h"
#include "graph/op.h"

namespace lemnos {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + kPlaceAlignment - 1) / kPlaceAlignment * kPlaceAlignment;
}

/// A value or a chain of values updated in place: one piece of memory with one lifetime, counted in
/// node indices, both ends included.
struct Tenant {
  ValueId root;
  int64_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  int64_t offset = 0;  // in one long line of blocks
};

class ArenaPlanner {
 public:
  ArenaPlanner(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), storage_roots_(persistent_roots(graph)) {}

  ArenaPlan plan() {
    result_.places.resize(graph_.values.size());
    result_.roots.resize(graph_.values.size());
    for (uint32_t i = 0; i < graph_.values.size(); ++i) result_.roots[i] = {i};
    find_last_uses();
    share_in_place();
    check_persistent_reads();
    place_inputs();
    std::vector<Tenant> tenants = make_tenants();
    place(tenants);
    publish(tenants);
    return std::move(result_);
  }

 private:
  int32_t section_end(Section section) const {
    int32_t end = 0;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      if (graph_.nodes[n].section == section) end = static_cast<int32_t>(n);
    return end;
  }

  void find_last_uses() {
    producers_ = producer_of(graph_);
    last_use_ = producers_;
    for (size_t n = 0; n < graph_.nodes.size(); ++n)
      for (const ValueId in : graph_.nodes[n].inputs)
        if (in.valid()) {
          check_section(in, graph_.nodes[n]);
          last_use_[in.index] = std::max(last_use_[in.index], static_cast<int32_t>(n));
        }
    for (const ValueId id : graph_.results) {
      const int32_t made_by = producers_[id.index];
      if (made_by >= 0)
        last_use_[id.index] = section_end(graph_.nodes[static_cast<size_t>(made_by)].section) + 1;
    }
  }

  /// Sections run at different times; only persistent values pass from one to another.
  void check_section(ValueId in, const Node& reader) const {
    const int32_t made_by = producers_[in.index];
    if (made_by < 0 || storage_roots_[in.index].valid()) return;
    LEMNOS_CHECK(graph_.nodes[static_cast<size_t>(made_by)].section == reader.section,
                 "{} reads an activation of another section", reader.op->name);
  }

  bool may_share(const Node& node, size_t n, ValueId out, ValueId in) const {
    if (!in.valid() || graph_[in].kind != ValueKind::activation) return false;
    if (storage_roots_[in.index].valid()) return false;
    if (result_.roots[out.index] != out) return false;
    const bool dies = last_use_[result_.roots[in.index].index] <= static_cast<int32_t>(n) &&
                      last_use_[in.index] <= static_cast<int32_t>(n);
    const auto uses = std::count(node.inputs.begin(), node.inputs.end(), in);
    return dies && uses == 1 && graph_.bytes(out) == graph_.bytes(in);
  }

  void share_in_place() {
    for (uint32_t i = 0; i < graph_.values.size(); ++i)
      if (storage_roots_[i].valid()) result_.roots[i] = storage_roots_[i];
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (node.op->is_view) share_view(node);
      if (!options_.alias) continue;
      for (const auto& [o, i] : node.op->inplace) {
        if (static_cast<size_t>(o) >= node.outputs.size() || static_cast<size_t>(i) >= node.inputs.size()) continue;
        const ValueId out = node.outputs[static_cast<size_t>(o)], in = node.inputs[static_cast<size_t>(i)];
        if (!may_share(node, n, out, in)) continue;
        join(out, in);
      }
    }
  }

  void share_view(const Node& node) {
    const ValueId out = node.outputs[0], in = node.inputs[0];
    LEMNOS_CHECK(graph_[in].kind == ValueKind::activation && !storage_roots_[in.index].valid(),
                 "{} of something that is no activation", node.op->name);
    join(out, in);
  }

  void join(ValueId out, ValueId in) {
    const ValueId root = result_.roots[in.index];
    result_.roots[out.index] = root;
    last_use_[root.index] = std::max(last_use_[root.index], last_use_[out.index]);
  }

  /// After an in-place update of a state nobody may read its older version.
  void check_persistent_reads() const {
    std::map<ValueId, ValueId> newest;
    for (const Node& node : graph_.nodes) {
      for (const ValueId in : node.inputs) {
        if (!in.valid() || !storage_roots_[in.index].valid()) continue;
        const auto found = newest.find(storage_roots_[in.index]);
        const bool by_name = graph_[in].kind != ValueKind::activation;
        LEMNOS_CHECK(found == newest.end() || found->second == in ||
                         (by_name && section_of(found->second) != node.section),
                     "{} reads {} after it was updated", node.op->name, graph_[storage_roots_[in.index]].name);
      }
      for (const ValueId out : node.outputs)
        if (storage_roots_[out.index].valid()) newest[storage_roots_[out.index]] = out;
    }
  }

  Section section_of(ValueId id) const {
    return graph_.nodes[static_cast<size_t>(producers_[id.index])].section;
  }

  void place_inputs() {
    for (const ValueId id : graph_.of_kind(ValueKind::input)) {
      result_.places[id.index] = {Region::input, 0, result_.input_bytes, graph_.bytes(id)};
      result_.input_bytes += aligned(graph_.bytes(id));
    }
  }

  /// What no node reads is scratch memory. The last kernel of its node reads it while the first of the
  /// next node runs, unless both share their memory and there must be a barrier.
  int32_t end_of_scratch(int32_t made_by) const {
    const auto& nodes = graph_.nodes;
    auto next = static_cast<size_t>(made_by) + 1;
    while (next < nodes.size() && nodes[next].op->is_view) ++next;
    return std::min(static_cast<int32_t>(next), static_cast<int32_t>(nodes.size()) - 1);
  }

  std::vector<Tenant> make_tenants() const {
    std::map<ValueId, Tenant> found;
    for (uint32_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.kind != ValueKind::activation || storage_roots_[i].valid() || producers_[i] < 0) continue;
      const ValueId root = result_.roots[i];
      Tenant& tenant = found.try_emplace(root, Tenant{root, 0, producers_[i], last_use_[i], 0}).first->second;
      tenant.bytes = std::max(tenant.bytes, aligned(graph_.bytes({i})));
      tenant.first = std::min(tenant.first, producers_[i]);
      tenant.last = std::max({tenant.last, last_use_[i], last_use_[i] == producers_[i] ? end_of_scratch(producers_[i]) : 0});
    }
    std::vector<Tenant> tenants;
    for (auto& [root, tenant] : found) tenants.push_back(tenant);
    return tenants;
  }

  /// Moves an offset that would cross a block's end to the next block.
  int64_t within_block(int64_t offset, int64_t bytes) const {
    const int64_t block = options_.max_block_bytes / kPlaceAlignment * kPlaceAlignment;
    if (bytes > block)
      fail(ErrorKind::out_of_memory,
           "one tensor of {} is larger than one allocation may be ({}); lower per_device_train_batch_size or max_length",
           byte_text(static_cast<uint64_t>(bytes)), byte_text(static_cast<uint64_t>(block)));
    return offset / block == (offset + std::max<int64_t>(bytes, 1) - 1) / block ? offset : (offset / block + 1) * block;
  }

  /// Largest first, each at the lowest offset that no tenant alive at the same time uses.
  void place(std::vector<Tenant>& tenants) const {
    std::vector<size_t> order(tenants.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return tenants[a].bytes > tenants[b].bytes; });
    std::vector<const Tenant*> placed;  // by offset
    for (const size_t index : order) {
      Tenant& tenant = tenants[index];
      int64_t offset = 0;
      for (const Tenant* other : placed) {
        const bool together = !options_.alias || (other->first <= tenant.last && tenant.first <= other->last);
        if (!together) continue;
        offset = within_block(offset, tenant.bytes);
        if (offset + tenant.bytes <= other->offset) break;
        offset = std::max(offset, other->offset + other->bytes);
      }
      tenant.offset = within_block(offset, tenant.bytes);
      const auto after = std::upper_bound(placed.begin(), placed.end(), tenant.offset,
                                          [](int64_t o, const Tenant* t) { return o < t->offset; });
      placed.insert(after, &tenant);
    }
  }

  void publish(const std::vector<Tenant>& tenants) {
    const int64_t block = options_.max_block_bytes / kPlaceAlignment * kPlaceAlignment;
    std::map<ValueId, Place> of_root;
    for (const Tenant& tenant : tenants) {
      const auto index = static_cast<uint32_t>(tenant.offset / block);
      const Place place{Region::arena, index, tenant.offset % block, tenant.bytes};
      if (index >= result_.blocks.size()) result_.blocks.resize(index + 1, 0);
      result_.blocks[index] = std::max(result_.blocks[index], place.offset + place.bytes);
      of_root[tenant.root] = place;
    }
    for (uint32_t i = 0; i < graph_.values.size(); ++i) {
      if (const auto found = of_root.find(result_.roots[i]); found != of_root.end()) {
        result_.places[i] = found->second;
        result_.places[i].bytes = graph_.bytes({i});
      } else if (storage_roots_[i].valid()) {
        result_.places[i].region = Region::persistent;
      }
    }
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<ValueId> storage_roots_;
  std::vector<int32_t> producers_, last_use_;
  ArenaPlan result_;
};

}  // namespace

ArenaPlan plan_arena(const Graph& graph, const PlanOptions& options) {
  return ArenaPlanner(graph, options).plan();
}

std::string storage_kind(const Value& value) {
  if (value.kind == ValueKind::parameter) return value.trainable ? "trainable weights" : "weights";
  if (value.name.starts_with("grad/")) return "gradients";
  if (value.name.starts_with("adam/")) return "optimizer";
  return "state";
}

namespace {

/// Trainable parameters, their gradients and their moments lie in runs of the same order, matrices (which decay) apart
/// from vectors, so that kernels which treat all elements alike need few dispatches (runtime/record_call.h).
std::vector<ValueId> storage_order(const Graph& graph) {
  constexpr std::string_view kRuns[] = {"", "grad/", "adam/m/", "adam/v/"};
  using Place = std::tuple<size_t, bool, uint32_t>;  // run, no matrix, the parameter's or the value's own index
  std::vector<std::pair<Place, ValueId>> order;
  for (const ValueKind kind : {ValueKind::parameter, ValueKind::state})
    for (const ValueId id : graph.of_kind(kind)) {
      const Value& value = graph[id];
      Place place{value.trainable ? 1 : kind == ValueKind::parameter ? 0 : 1 + std::size(kRuns), false, id.index};
      if (value.trainable) std::get<1>(place) = value.type.shape.size() < 2;
      for (size_t run = 1; run < std::size(kRuns); ++run) {
        if (kind != ValueKind::state || !value.name.starts_with(kRuns[run])) continue;
        const ValueId of = graph.find(value.name.substr(kRuns[run].size()));
        place = {run + 1, value.type.shape.size() < 2, of.valid() ? of.index : id.index};
      }
      order.emplace_back(place, id);
    }
  std::sort(order.begin(), order.end());
  std::vector<ValueId> ids;
  for (const auto& [place, id] : order) ids.push_back(id);
  return ids;
}

}  // namespace

StoragePlan plan_storage(std::span<const Graph* const> graphs, const PlanOptions& options) {
  StoragePlan plan;
  for (const Graph* graph : graphs)
    for (const ValueId id : storage_order(*graph)) {
      const Value& value = (*graph)[id];
      const int64_t bytes = graph->bytes(id);
      if (const auto old = plan.places.find(value.name); old != plan.places.end()) {
        LEMNOS_CHECK(old->second.bytes == bytes, "{} differs between graphs", value.name);
        continue;
      }
      if (bytes > options.max_block_bytes)
        fail(ErrorKind::unsupported, "{} has {}; one device allocation holds at most {}", value.name,
             byte_text(static_cast<uint64_t>(bytes)), byte_text(static_cast<uint64_t>(options.max_block_bytes)));
      if (plan.blocks.empty() || plan.blocks.back() + aligned(bytes) > options.max_block_bytes)
        plan.blocks.push_back(0);
      plan.places[value.name] = {Region::persistent, static_cast<uint32_t>(plan.blocks.size() - 1),
                                 plan.blocks.back(), bytes};
      plan.blocks.back() += aligned(bytes);
      plan.by_kind[storage_kind(value)] += aligned(bytes);
    }
  return plan;
}

ArenaSizes merge_arenas(std::span<const ArenaPlan* const> plans) {
  ArenaSizes sizes;
  for (const ArenaPlan* plan : plans) {
    sizes.input_bytes = std::max(sizes.input_bytes, plan->input_bytes);
    sizes.blocks.resize(std::max(sizes.blocks.size(), plan->blocks.size()), 0);
    for (size_t i = 0; i < plan->blocks.size(); ++i)
      sizes.blocks[i] = std::max(sizes.blocks[i], plan->blocks[i]);
  }
  return sizes;
}

}  // namespace lemnos
