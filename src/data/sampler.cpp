#include "data/sampler.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "data/random.h"

namespace lemnos::data {
namespace {

int64_t ceil_div(int64_t value, int64_t divisor) { return (value + divisor - 1) / divisor; }

Json list_of(const std::vector<int64_t>& values) {
  Json list = Json::array();
  for (int64_t value : values) list.push_back(value);
  return list;
}

}  // namespace

Sampler::Sampler(const Dataset& dataset, const SamplerOptions& options)
    : options_(options), fingerprint_(dataset.fingerprint()) {
  LEMNOS_CHECK(options.rows_per_batch > 0 && options.batches_per_window > 0);
  for (const Example& example : dataset.examples) {
    lengths_.push_back(static_cast<int64_t>(example.ids.size()));
    supervised_.push_back(example.supervised);
  }
  buckets_ = choose_buckets(lengths_, options.rows_per_batch, options.buckets);
  plan_epoch();
  batches_per_epoch_ = static_cast<int64_t>(epoch_batches_.size());
  plan_window();
}

int64_t Sampler::windows_per_epoch() const {
  return ceil_div(batches_per_epoch_, options_.batches_per_window);
}

double Sampler::epochs_done() const {
  return static_cast<double>(epoch_) +
         static_cast<double>(window_in_epoch_) / static_cast<double>(windows_per_epoch());
}

void Sampler::advance() {
  if (++window_in_epoch_ == windows_per_epoch()) {
    window_in_epoch_ = 0;
    ++epoch_;
    plan_epoch();
  }
  plan_window();
}

std::vector<int64_t> Sampler::epoch_order() const {
  std::vector<int64_t> order(lengths_.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  RandomStream random(options_.seed, 2 * static_cast<uint64_t>(epoch_));
  if (options_.shuffle) shuffle(order, random);
  return order;
}

void Sampler::plan_epoch() {
  epoch_batches_.clear();
  std::vector<BatchPlan> open(buckets_.size());
  const auto close = [&](size_t bucket) {
    open[bucket].length = buckets_[bucket];
    epoch_batches_.push_back(std::move(open[bucket]));
    open[bucket] = {};
  };
  for (int64_t example : epoch_order()) {
    const size_t bucket = bucket_index(buckets_, lengths_[static_cast<size_t>(example)]);
    open[bucket].examples.push_back(example);
    if (std::ssize(open[bucket].examples) == options_.rows_per_batch) close(bucket);
  }
  for (size_t bucket = 0; bucket < open.size(); ++bucket)
    if (!open[bucket].examples.empty()) close(bucket);
  RandomStream random(options_.seed, 2 * static_cast<uint64_t>(epoch_) + 1);
  if (options_.shuffle) shuffle(epoch_batches_, random);
}

void Sampler::plan_window() {
  const int64_t first = window_in_epoch_ * options_.batches_per_window;
  const int64_t last = std::min(first + options_.batches_per_window, batches_per_epoch_);
  window_ = {};
  window_.batches.assign(epoch_batches_.begin() + first, epoch_batches_.begin() + last);
  for (const BatchPlan& batch : window_.batches)
    for (int64_t example : batch.examples)
      window_.supervised += supervised_[static_cast<size_t>(example)];
}

Json Sampler::identity() const {
  return Json::Object{{"data", fingerprint_},
                      {"per_device_train_batch_size", options_.rows_per_batch},
                      {"gradient_accumulation_steps", options_.batches_per_window},
                      {"data_seed", options_.seed},
                      {"shuffle", options_.shuffle},
                      {"lengths", list_of(buckets_)}};
}

Json Sampler::cursor() const {
  return Json::Object{{"epoch", epoch_}, {"window", window_in_epoch_}, {"order", identity()}};
}

void Sampler::restore(const Json& cursor) {
  const Json& saved = cursor.at("order");
  const Json current = identity();
  for (const auto& [key, value] : current.as_object())
    if (saved.at(key) != value)
      fail(ErrorKind::usage,
           "cannot resume: {} was {} and is now {}, so the rows would come in another order", key,
           saved.at(key).dump(), value.dump());
  const int64_t epoch = cursor.at("epoch").as_integer();
  const int64_t window = cursor.at("window").as_integer();
  if (epoch < 0 || window < 0 || window >= windows_per_epoch())
    fail(ErrorKind::corrupt_input,
         "the saved data position (epoch {}, window {} of {}) is not valid", epoch, window,
         windows_per_epoch());
  epoch_ = epoch;
  window_in_epoch_ = window;
  plan_epoch();
  plan_window();
}

}  // namespace lemnos::data
