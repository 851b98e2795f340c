#include <algorithm>
#include <numeric>

#include "ops/embed/embedding.h"

namespace lemnos {

EmbeddingOrder embedding_order(std::span<const int32_t> ids) {
  EmbeddingOrder result;
  result.order.resize(ids.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  const auto id_of = [&](int32_t row) { return ids[static_cast<size_t>(row)]; };
  std::stable_sort(result.order.begin(), result.order.end(),
                   [&](int32_t a, int32_t b) { return id_of(a) < id_of(b); });
  result.runs.reserve(3 * ids.size());
  for (size_t first = 0; first < ids.size();) {
    const int32_t id = id_of(result.order[first]);
    size_t end = first;
    while (end < ids.size() && id_of(result.order[end]) == id) ++end;
    result.runs.insert(result.runs.end(),
                       {id, static_cast<int32_t>(first), static_cast<int32_t>(end)});
    first = end;
  }
  result.runs.resize(3 * ids.size(), -1);
  return result;
}

}  // namespace lemnos
