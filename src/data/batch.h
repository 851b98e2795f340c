#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/sampler.h"

namespace lemnos::data {

/// One micro-batch as the host sees it: tables of rows x length, row after row. Padding stands at
/// the end of a row and is known by position, never by id, so that pad = EOS is harmless.
struct Batch {
  int64_t rows = 0;
  int64_t length = 0;
  std::vector<int32_t> input_ids;  ///< 0 in the padding
  std::vector<int32_t> labels;     ///< not shifted; kIgnoredLabel in the padding
  std::vector<int32_t> positions;  ///< from 0 in each document; 0 in the padding
  std::vector<int32_t> segments;   ///< documents of a row from 0 on; its padding is one more
  int64_t supervised = 0;          ///< targets, as `targets_of` counts them
  int64_t tokens = 0;              ///< tokens that are not padding
  /// Of each row, where its example stands; line 0 for a row of nothing but padding.
  std::vector<RowPlace> places;
};

/// Rows beyond the plan's examples are padding alone, so that the shape is the bucket's.
Batch make_batch(const Dataset& dataset, const BatchPlan& plan, int64_t rows);

/// What each position predicts: the next label of the same row and document, -1 for no target.
std::vector<int32_t> targets_of(const Batch& batch);

}  // namespace lemnos::data
