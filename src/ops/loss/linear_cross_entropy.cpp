#include "ops/loss/linear_cross_entropy.h"

#include <algorithm>

#include "ops/linear/linear.h"
#include "ops/loss/concat_rows.h"
#include "ops/loss/cross_entropy.h"
#include "ops/loss/linear_rows.h"
#include "ops/loss/loss_sum.h"

namespace lemnos {
namespace {

constexpr int64_t kRowStep = 128;  // rows of the large GEMM tile

struct Head {
  ValueId hidden, weight, bias, targets, step_f32;
  LogitOptions options;
};

/// Emits the weight's and the bias's gradients and returns the hidden rows' one, where needed.
ValueId add_gradients(Builder& b, const Head& head, ValueId dlogits, int64_t first,
                      Autodiff& autodiff) {
  const double scale = head.options.scale;
  if (autodiff.needs(head.weight))
    autodiff.set_partial(head.weight,
                         ops::linear_rows_grad_weight(b, dlogits, head.hidden, first,
                                                      autodiff.partial(head.weight), scale));
  if (autodiff.needs(head.bias))
    autodiff.set_partial(head.bias, ops::linear_grad_bias(b, dlogits, autodiff.partial(head.bias)));
  if (!autodiff.needs(head.hidden)) return {};
  return ops::linear_grad_input(b, dlogits, head.weight, {}, scale);
}

}  // namespace

int64_t loss_chunk_rows(int64_t rows, int64_t vocabulary, int64_t most_bytes) {
  const int64_t fitting = most_bytes / (4 * vocabulary) / kRowStep * kRowStep;
  const int64_t most = std::max(kRowStep, fitting);
  const int64_t chunks = (rows + most - 1) / most;
  const int64_t even = (rows + chunks - 1) / chunks;
  return std::min(rows, (even + kRowStep - 1) / kRowStep * kRowStep);
}

ValueId linear_cross_entropy(Builder& b, ValueId hidden, ValueId weight, ValueId bias,
                             ValueId targets, ValueId step_f32, Autodiff* autodiff,
                             const LogitOptions& options) {
  const Head head{hidden, weight, bias, targets, step_f32, options};
  const int64_t rows = b.shape(hidden)[0];
  const int64_t most = loss_chunk_rows(rows, b.shape(weight)[0], options.most_bytes);
  ValueId sum = b.state_once(kLossSumName, {2});
  std::vector<ValueId> hidden_gradients;
  for (int64_t first = 0; first < rows; first += most) {
    const int64_t count = std::min(most, rows - first);
    const ValueId logits = ops::linear_rows(b, hidden, weight, bias, first, count, options.scale);
    if (autodiff == nullptr) {
      sum = ops::add_losses(b, sum,
                            ops::cross_entropy_loss(b, logits, targets, first, options.softcap));
      continue;
    }
    const auto made = ops::cross_entropy(b, logits, targets, step_f32, first, options.softcap);
    sum = ops::add_losses(b, sum, made.losses);
    const ValueId gradient = add_gradients(b, head, made.dlogits, first, *autodiff);
    if (gradient.valid()) hidden_gradients.push_back(gradient);
  }
  if (hidden_gradients.size() == 1) autodiff->add(hidden, hidden_gradients[0]);
  if (hidden_gradients.size() > 1) autodiff->add(hidden, ops::concat_rows(b, hidden_gradients));
  return sum;
}

}  // namespace lemnos
