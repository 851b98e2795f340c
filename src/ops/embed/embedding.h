#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/builder.h"

namespace lemnos {

/// What the gradient of an embedding needs besides dy: which rows belong to which id, computed
/// where the ids are known, on the host.
struct EmbeddingOrder {
  /// Input "embed_order" [N]: the row numbers sorted by (id, row).
  std::vector<int32_t> order;
  /// Input "embed_rows" [N, 3]: for each distinct id, ascending: id, first and end index into
  /// `order`. Unused entries have id -1.
  std::vector<int32_t> runs;
};
EmbeddingOrder embedding_order(std::span<const int32_t> ids);

namespace ops {

/// y[n] = weight[ids[n]] (torch.nn.Embedding). `weight` is [V, H] in f32, f16 or bf16, widened
/// exactly; `ids` [N] i32 in [0, V). The gradient of row `padding_idx` is zero (-1: no such row).
/// Its gradient adds the inputs "embed_order" and "embed_rows" to the graph.
ValueId embedding(Builder& b, ValueId weight, ValueId ids, int64_t padding_idx = -1);

/// dweight[id] = sum[id] + sum of dy[n] over the rows n with that id, ascending. `sum` [V, H] is a
/// gradient state, updated in place (rows of other ids are not touched); absent, it is zero.
ValueId embedding_grad(Builder& b, ValueId dy, ValueId order, ValueId runs, int64_t vocabulary,
                       ValueId sum = {}, int64_t padding_idx = -1);

}  // namespace ops
}  // namespace lemnos
