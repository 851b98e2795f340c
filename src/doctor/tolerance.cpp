#include "doctor/tolerance.h"

#include <algorithm>
#include <cmath>

namespace lemnos::doctor {
namespace {

struct Row {
  std::string_view op;
  size_t output;  // and those after it
  Tolerance tolerance;
};

/// Inputs are in [-1, 1).
///
/// Sums of products lose relative to their terms and partial sums, not to a result that may cancel. In
/// chunks of 64, added in order, n products of independent sign have an error of about
/// 2^-24 * (64^0.5 + (n/64)^0.5) * (n/9)^0.5 / 8, below 4 * 2^-24 of the largest of thousands of sums for every n
/// of a model. 16 is what the tests of the ops ask too; one product that is missing or wrong is at least a
/// thousand times more for n below 10^5. `least` 1: a few sums may all be smaller than their terms.
constexpr Tolerance kSum{16, 1, 1};

constexpr Row kRows[] = {
    // Copies, choices and zeros: exact.
    {"embedding", 0, {0, 0}},
    {"concat_rows", 0, {0, 0}},
    {"largest", 0, {0, 0}},
    {"largest_rows", 0, {0, 0}},
    {"zero", 0, {0, 0}},
    {"moe_gather", 0, {0, 0}},
    {"moe_sort", 0, {0, 0}},
    // One rounding.
    {"add", 0, {1, 0}},
    {"accumulate", 0, {1, 0}},
    {"scale", 0, {1, 0}},
    {"dropout", 0, {1, 0}},
    {"moe_combine_grad", 0, {1, 0}},
    // Two products and a sum, as large as their terms.
    {"rope", 0, {4, 1, 1}},
    // A sigmoid of 2.5 ulp (up to 5 * 2^-24 of it), two products. The gradient has a factor that cancels.
    {"swiglu", 0, {8, 0}},
    {"swiglu_fused", 0, {8, 0}},
    {"swiglu_grad", 0, {8, 1}},
    {"swiglu_fused_grad", 0, {8, 1}},
    // Compensated sums: their roundings do not add up. Then a root and a few products.
    {"rms_norm", 0, {8, 0}},
    {"rms_norm_grad_input", 0, {8, 1, 1}},
    {"rms_norm_grad_weight", 0, {8, 1, 1}},
    {"embedding_grad", 0, {4, 1, 1}},
    {"add_losses", 0, {4, 1}},
    {"clip_gradients", 0, {8, 0}},
    // Softmax: the exponent's rounding (logits in [-1, 1), so two units), exp, the sum, a division; then
    // minus one at the target, where up to 8 times the result cancels. Elsewhere the probabilities are
    // small and held to a thousandth of the target's.
    {"cross_entropy", 0, {32, 1e-3}},
    {"cross_entropy", 1, {16, 1, 1}},
    {"cross_entropy_loss", 0, {16, 1, 1}},
    {"moe_route", 0, {16, 0}},
    {"moe_route_grad", 0, {16, 1, 0.1}},
    // Weighted means of v: the weights add up to 1.
    {"attention", 0, {16, 1}},
    // Sums of scale * p * (dp - delta), where dp and delta are sums of d products, so of about (d/9)^0.5,
    // that may cancel (with a single key they are equal), and scale is d^-0.5: terms of a third.
    {"attention_grad", 0, {16, 1, 1.0 / 3}},
    // Torch's order of roundings, a handful of them, against the exact formula.
    {"adamw", 0, {4, 1}},
};

}  // namespace

Tolerance tolerance_of(std::string_view op, size_t output) {
  Tolerance found = kSum;
  for (const Row& row : kRows)
    if (row.op == op && row.output <= output) found = row.tolerance;
  return found;
}

double allowed_error(const Tolerance& tolerance, double expected, double largest) {
  constexpr double kFlushed = 0x1p-126;  // smaller numbers may be flushed to zero
  const double magnitude = std::max({std::abs(expected), tolerance.share * largest, tolerance.least});
  return tolerance.ulps * 0x1p-24 * magnitude + (tolerance.ulps > 0 ? kFlushed : 0.0);
}

}  // namespace lemnos::doctor
