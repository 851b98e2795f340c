#include "ops/loss/loss_sum.h"

#include <numeric>

#include "base/error.h"
#include "ops/loss/loss_sum.params.h"

namespace lemnos {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 20;  // lavapipe's loop limit: rows / 32 iterations

std::vector<ValueType> infer(const InferContext& c) {
  LEMNOS_CHECK(c[0].shape == Shape{2} && c[1].shape.size() == 1, "losses {}",
               to_string(c[1].shape));
  if (c[1].shape[0] > kMostRows)
    fail(ErrorKind::unsupported, "a micro-batch of {} tokens: at most {} are supported; lower per_device_train_batch_size or max_length",
         c[1].shape[0], kMostRows);
  return {c[0]};
}

void reference(const ReferenceContext& c) {
  const std::vector<double>& losses = c.in(1).data;
  c.out(0).data = c.in(0).data;
  c.out(0).data[0] += std::accumulate(losses.begin(), losses.end(), 0.0);
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  LossSumParams params{};
  params.count = static_cast<uint32_t>(c.shape_in(1)[0]);
  return {kernel(c.device.cpu_path ? "loss_sum.cpu" : "loss_sum.gpu", params,
                 {c.in(1), c.in(0), c.out(0)}, {1, 1, 1})};
}

}  // namespace

extern const OpDef kAddLossesOp;

const OpDef kAddLossesOp{.name = "add_losses",
                         .infer = infer,
                         .reference = reference,
                         .grad = nullptr,
                         .dispatch = dispatch,
                         .inplace = {{0, 0}}};

namespace ops {

ValueId add_losses(Builder& b, ValueId loss_sum, ValueId losses) {
  return b.emit1(kAddLossesOp, {loss_sum, losses});
}

}  // namespace ops
}  // namespace lemnos
