#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace lemnos {

/// Where a value's bytes are.
enum class Region : uint8_t { none, arena, input, persistent };

struct Place {
  Region region = Region::none;
  uint32_t block = 0;  // index into the region's blocks
  int64_t offset = 0;  // bytes, a multiple of kPlaceAlignment
  int64_t bytes = 0;
};

inline constexpr int64_t kPlaceAlignment = 256;

struct PlanOptions {
  int64_t max_block_bytes = int64_t{2} << 30;  // no block is larger than one device allocation
  bool alias = true;  // false: nothing shares memory (a test that the sharing is harmless)
};

/// Parameters and states of all graphs of a run (one graph per shape bucket): allocated once, by
/// name, so that every program sees the same bytes.
struct StoragePlan {
  std::map<std::string, Place, std::less<>> places;
  std::vector<int64_t> blocks;  // bytes of each
  std::map<std::string, int64_t> by_kind;  // "weights", "trainable weights", "gradients", "optimizer", "state"
};
StoragePlan plan_storage(std::span<const Graph* const> graphs, const PlanOptions& options);

/// Activations and inputs of one graph. Arena blocks of several graphs are shared by taking the
/// largest of each (see merge_arenas).
struct ArenaPlan {
  std::vector<Place> places;  // per value; Region::persistent values are looked up by name
  std::vector<ValueId> roots;  // per value: the value whose storage it uses (itself if its own)
  std::vector<int64_t> blocks;
  int64_t input_bytes = 0;
};
ArenaPlan plan_arena(const Graph& graph, const PlanOptions& options);

/// The arena that fits all of `plans`.
struct ArenaSizes {
  std::vector<int64_t> blocks;
  int64_t input_bytes = 0;
};
ArenaSizes merge_arenas(std::span<const ArenaPlan* const> plans);

/// A state's kind for the printed plan, from its name: "grad/..." gradients, "adam/..." optimizer,
/// else "state".
std::string storage_kind(const Value& value);

}  // namespace lemnos
