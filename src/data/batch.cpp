#include "data/batch.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace lemnos::data {
namespace {

Batch padding_only(int64_t rows, int64_t length) {
  const auto size = static_cast<size_t>(rows * length);
  Batch batch;
  batch.rows = rows;
  batch.length = length;
  batch.input_ids.resize(size, 0);
  batch.labels.resize(size, kIgnoredLabel);
  batch.positions.resize(size, 0);
  batch.segments.resize(size, 0);
  batch.places.resize(static_cast<size_t>(rows));
  return batch;
}

void put_row(Batch& batch, int64_t row, const Example& example) {
  const int64_t begin = row * batch.length;
  const auto length = std::ssize(example.ids);
  LEMNOS_CHECK(length <= batch.length, "a row of {} tokens in a bucket of {}", length,
               batch.length);
  std::copy(example.ids.begin(), example.ids.end(), batch.input_ids.begin() + begin);
  std::copy(example.labels.begin(), example.labels.end(), batch.labels.begin() + begin);
  const auto positions = batch.positions.begin() + begin;
  std::iota(positions, positions + length, 0);
  std::fill_n(batch.segments.begin() + begin + length, batch.length - length, 1);
  batch.supervised += example.supervised;
  batch.tokens += length;
  batch.places[static_cast<size_t>(row)] = {example.file, example.line};
}

}  // namespace

Batch make_batch(const Dataset& dataset, const BatchPlan& plan, int64_t rows) {
  LEMNOS_CHECK(std::ssize(plan.examples) <= rows);
  Batch batch = padding_only(rows, plan.length);
  for (size_t row = 0; row < plan.examples.size(); ++row)
    put_row(batch, static_cast<int64_t>(row),
            dataset.examples[static_cast<size_t>(plan.examples[row])]);
  return batch;
}

std::vector<int32_t> targets_of(const Batch& batch) {
  std::vector<int32_t> targets(batch.labels.size(), -1);
  for (int64_t row = 0; row < batch.rows; ++row)
    for (int64_t t = 0; t + 1 < batch.length; ++t) {
      const auto at = static_cast<size_t>(row * batch.length + t);
      const bool same_document = batch.segments[at] == batch.segments[at + 1];
      if (same_document && batch.labels[at + 1] != kIgnoredLabel)
        targets[at] = batch.labels[at + 1];
    }
  return targets;
}

}  // namespace lemnos::data
