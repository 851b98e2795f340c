#pragma once

#include <map>
#include <string>
#include <vector>

#include "support/toy_engine.h"

namespace lemnos::test {

/// Rows of different lengths, padded to `length`; other tokens for each `number`. Packed: two documents
/// in each row.
inline data::Batch toy_batch(int64_t rows, int64_t length, int32_t number, bool packed = false) {
  data::Batch batch{.rows = rows, .length = length};
  const int64_t second = packed ? (length + 1) / 2 : length;  // where the second document begins
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t t = 0; t < length; ++t) {
      const bool padding = t >= length - row;
      const auto id = static_cast<int32_t>((number * 7 + row * 5 + t * t * 3) % 40);
      batch.input_ids.push_back(padding ? 0 : id);
      batch.labels.push_back(padding || t % 4 == 3 ? data::kIgnoredLabel : id);
      batch.positions.push_back(padding ? 0 : static_cast<int32_t>(t % second));
      batch.segments.push_back(static_cast<int32_t>(padding ? 1 + t / second : t / second));
    }
  for (const int32_t target : data::targets_of(batch)) batch.supervised += target >= 0 ? 1 : 0;
  return batch;
}

/// Every parameter and state, loss sum and gradient norm among them.
using Snapshot = std::map<std::string, std::vector<std::byte>>;

inline Snapshot snapshot(Engine& engine) {
  Snapshot found;
  for (const auto& [name, place] : engine.storage().plan().places) found[name] = engine.storage().read(name);
  return found;
}

inline void restore(Engine& engine, const Snapshot& from) {
  for (const auto& [name, bytes] : from) engine.storage().write(name, bytes);
}

inline void expect_same(const Snapshot& a, const Snapshot& b, const std::string& what = "") {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (const auto& [name, bytes] : a) EXPECT_TRUE(bytes == b.at(name)) << name << " " << what;
}

/// Trained tensors differ from the start, so that equal bits say something.
inline void expect_trained(const Snapshot& before, const Snapshot& after, const Graph& graph) {
  for (const ValueId id : graph.of_kind(ValueKind::parameter))
    EXPECT_EQ(graph[id].trainable, before.at(graph[id].name) != after.at(graph[id].name)) << graph[id].name;
}

/// An accumulation window of the batches and the optimizer's step `number`.
inline void toy_step(Engine& engine, const std::vector<data::Batch>& batches, int64_t number) {
  StepParams params;
  params.set_optimizer({}, 1e-2, number, /*max_norm=*/0.5);
  params.set_seed(42);
  int64_t supervised = 0;
  for (const data::Batch& batch : batches) supervised += batch.supervised;
  params.set_loss_scale(supervised);
  engine.begin_window();
  int32_t micro = 0;
  for (const data::Batch& batch : batches) {
    params.set_micro(micro++);
    engine.micro(batch, params);
  }
  engine.update();
}

}  // namespace lemnos::test
