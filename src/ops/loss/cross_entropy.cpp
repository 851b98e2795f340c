#include "ops/loss/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/loss/cross_entropy.params.h"
#include "ops/optim/step_params.h"

namespace lemnos {
namespace {

constexpr uint32_t kLanes = 256;  // of a row on the GPU path
// Two passes of V / 32 iterations on the 8-lane path stay under lavapipe's 65,534.
constexpr int64_t kMostColumns = 1'000'000;

void check_rows(const InferContext& c) {
  const Shape &logits = c[0].shape, &targets = c[1].shape;
  const int64_t first = c.attrs.get_int("first");
  LEMNOS_CHECK(logits.size() == 2 && targets.size() == 1 && c[1].dtype == DType::i32);
  LEMNOS_CHECK(first >= 0 && first + logits[0] <= targets[0], "rows {} + {} of {}", first,
               logits[0], targets[0]);
  if (logits[1] > kMostColumns)
    fail(ErrorKind::unsupported, "a vocabulary of {} rows: at most {} are supported", logits[1], kMostColumns);
}

std::vector<ValueType> infer(const InferContext& c) {
  check_rows(c);
  LEMNOS_CHECK(c[2].shape == Shape{kStepFloats});
  return {c[0], {{c[0].shape[0]}, DType::f32}};
}

std::vector<ValueType> infer_loss(const InferContext& c) {
  check_rows(c);
  return {{{c[0].shape[0]}, DType::f32}};
}

struct Row {
  std::vector<double> x;  // capped logits
  std::vector<double> softmax;
  double log_sum = 0;
};

Row softmax_row(const double* logits, size_t columns, double softcap) {
  Row row{{logits, logits + columns}, std::vector<double>(columns), 0};
  if (softcap > 0)
    for (double& x : row.x) x = softcap * std::tanh(x / softcap);
  const double highest = *std::max_element(row.x.begin(), row.x.end());
  double sum = 0;
  for (size_t j = 0; j < columns; ++j) sum += row.softmax[j] = std::exp(row.x[j] - highest);
  for (double& p : row.softmax) p /= sum;
  row.log_sum = highest + std::log(sum);
  return row;
}

void reference(const ReferenceContext& c) {
  const auto columns = static_cast<size_t>(c.in(0).shape[1]);
  const auto first = static_cast<size_t>(c.attrs.get_int("first"));
  const double softcap = c.attrs.get_double("softcap"), scale = c.in(2).data[kLossScale];
  for (size_t i = 0; i < c.out(1).data.size(); ++i) {
    const double target = c.in(1).data[first + i];
    if (target < 0) continue;
    const Row row = softmax_row(&c.in(0).data[i * columns], columns, softcap);
    c.out(1).data[i] = row.log_sum - row.x[static_cast<size_t>(target)];
    for (size_t j = 0; j < columns; ++j) {
      const double hot = static_cast<double>(j) == target ? 1 : 0;
      const double slope = softcap > 0 ? 1 - (row.x[j] / softcap) * (row.x[j] / softcap) : 1;
      c.out(0).data[i * columns + j] = (row.softmax[j] - hot) * scale * slope;
    }
  }
}

void reference_loss(const ReferenceContext& c) {
  const auto columns = static_cast<size_t>(c.in(0).shape[1]);
  const auto first = static_cast<size_t>(c.attrs.get_int("first"));
  for (size_t i = 0; i < c.out(0).data.size(); ++i) {
    const double target = c.in(1).data[first + i];
    if (target < 0) continue;
    const Row row = softmax_row(&c.in(0).data[i * columns], columns, c.attrs.get_double("softcap"));
    c.out(0).data[i] = row.log_sum - row.x[static_cast<size_t>(target)];
  }
}

KernelCall call(const DispatchContext& c, std::string variant, std::vector<BufferRef> buffers) {
  const Shape& logits = c.shape_in(0);
  CrossEntropyParams params{};
  params.rows = static_cast<uint32_t>(logits[0]);
  params.columns = static_cast<uint32_t>(logits[1]);
  params.softcap = static_cast<float>(c.node.attrs.get_double("softcap"));
  const uint32_t by4 = logits[1] % 4 == 0 ? 1 : 0, capped = params.softcap > 0 ? 1 : 0;
  return kernel("cross_entropy." + std::move(variant), params, std::move(buffers),
                flat_groups(logits[0], 1), {kLanes, by4, capped});
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const BufferRef targets = c.in(1, 4 * c.node.attrs.get_int("first"));
  return {
      call(c, c.device.cpu_path ? "cpu" : "gpu", {c.in(0), targets, c.in(2), c.out(0), c.out(1)})};
}

std::vector<KernelCall> dispatch_loss(const DispatchContext& c) {
  const BufferRef targets = c.in(1, 4 * c.node.attrs.get_int("first"));
  const BufferRef unused = c.out(0);  // no step values and no gradient are touched
  return {call(c, c.device.cpu_path ? "cpu_forward" : "gpu_forward",
               {c.in(0), targets, unused, unused, c.out(0)})};
}

}  // namespace

extern const OpDef kCrossEntropyOp;
extern const OpDef kCrossEntropyLossOp;

const OpDef kCrossEntropyOp{.name = "cross_entropy",
                            .infer = infer,
                            .reference = reference,
                            .grad = nullptr,
                            .dispatch = dispatch,
                            .inplace = {{0, 0}}};
const OpDef kCrossEntropyLossOp{.name = "cross_entropy_loss",
                                .infer = infer_loss,
                                .reference = reference_loss,
                                .grad = nullptr,
                                .dispatch = dispatch_loss};

namespace ops {

CrossEntropyValues cross_entropy(Builder& b, ValueId logits, ValueId targets, ValueId step_f32,
                                 int64_t first, double softcap) {
  const std::vector<ValueId> out = b.emit(kCrossEntropyOp, {logits, targets, step_f32},
                                          {{"first", first}, {"softcap", softcap}});
  return {out[0], out[1]};
}

ValueId cross_entropy_loss(Builder& b, ValueId logits, ValueId targets, int64_t first,
                           double softcap) {
  return b.emit1(kCrossEntropyLossOp, {logits, targets}, {{"first", first}, {"softcap", softcap}});
}

}  // namespace ops
}  // namespace lemnos
