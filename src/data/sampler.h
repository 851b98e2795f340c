#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/buckets.h"
#include "data/dataset.h"

namespace lemnos::data {

struct SamplerOptions {
  int64_t rows_per_batch = 8;
  int64_t batches_per_window = 1;
  uint64_t seed = 42;
  /// False: rows in the order of the files, each batch given out when it is full.
  bool shuffle = true;
  BucketOptions buckets;
};

/// The examples of one batch; fewer than rows_per_batch only at the end of an epoch.
struct BatchPlan {
  std::vector<int64_t> examples;
  /// The bucket: the padded length of each row.
  int64_t length = 0;
};

/// The batches of one optimizer step.
struct Window {
  std::vector<BatchPlan> batches;
  /// Targets in all of them: what their summed loss is divided by.
  int64_t supervised = 0;
};

/// The order of the rows: a pure function of (seed, epoch), so that a cursor restores it exactly.
///
/// Each epoch: the rows are shuffled (stream 2 * epoch), dealt in that order to one open batch per
/// bucket, a batch closes when full, what is left over closes smallest bucket first, then the
/// batches are shuffled (stream 2 * epoch + 1). The number of batches therefore depends on the
/// lengths alone. Windows take consecutive batches; the last one of an epoch may have fewer.
class Sampler {
 public:
  Sampler(const Dataset& dataset, const SamplerOptions& options);

  /// All (rows_per_batch, length) shapes of the run, ascending in length.
  const std::vector<int64_t>& buckets() const { return buckets_; }
  int64_t batches_per_epoch() const { return batches_per_epoch_; }
  /// Optimizer steps in an epoch.
  int64_t windows_per_epoch() const;
  int64_t epoch() const { return epoch_; }
  /// Epochs done as a real number, as in trainer_state.json.
  double epochs_done() const;

  /// What the coming optimizer step trains on; the same until `advance`.
  const Window& window() const { return window_; }
  /// To be called when that step is complete. A stop before replays the window.
  void advance();

  /// The position and all that determines the order.
  Json cursor() const;
  /// Error{usage} names what differs from the run that made the cursor (data, batch, seed ...).
  void restore(const Json& cursor);

 private:
  void plan_epoch();
  void plan_window();
  std::vector<int64_t> epoch_order() const;
  Json identity() const;

  SamplerOptions options_;
  std::vector<int64_t> lengths_;
  std::vector<int64_t> supervised_;
  std::string fingerprint_;
  std::vector<int64_t> buckets_;
  int64_t batches_per_epoch_ = 0;
  int64_t epoch_ = 0;
  int64_t window_in_epoch_ = 0;
  std::vector<BatchPlan> epoch_batches_;
  Window window_;
};

}  // namespace lemnos::data
