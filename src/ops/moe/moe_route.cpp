#include "ops/moe/moe_route.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/moe/moe_route.params.h"
#include "ops/rows.h"

namespace lemnos {
namespace {

std::vector<ValueType> infer(const InferContext& c) {
  const Shape& logits = c[0].shape;
  const int64_t k = c.attrs.get_int("k");
  LEMNOS_CHECK(logits.size() == 2 && k >= 1 && k <= logits[1], "top {} of {}", k,
               to_string(logits));
  check_iterations((k + 2) * logits[1]);
  const Shape slots{logits[0], k};
  return {{slots, DType::f32}, {slots, DType::i32}};
}

std::vector<double> softmax(const double* x, size_t count) {
  std::vector<double> p(x, x + count);
  const double highest = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& e : p) sum += e = std::exp(e - highest);
  for (double& e : p) e /= sum;
  return p;
}

void reference(const ReferenceContext& c) {
  const auto count = static_cast<size_t>(c.in(0).shape[1]);
  const auto k = static_cast<size_t>(c.attrs.get_int("k"));
  std::vector<size_t> order(count);
  for (size_t n = 0; n * k < c.out(0).data.size(); ++n) {
    const double* x = &c.in(0).data[n * count];
    const std::vector<double> p = softmax(x, count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return x[a] > x[b]; });
    double sum = 0;
    for (size_t j = 0; j < k; ++j) sum += p[order[j]];
    for (size_t j = 0; j < k; ++j) {
      c.out(0).data[n * k + j] = p[order[j]] / (c.attrs.get_bool("norm_topk_prob") ? sum : 1.0);
      c.out(1).data[n * k + j] = static_cast<double>(order[j]);
    }
  }
}

std::string variant(const DispatchContext& c, const char* stem) {
  return std::string(stem) + (c.node.attrs.get_bool("norm_topk_prob") ? ".chosen" : ".all");
}

template <typename Params>
Params sizes(const DispatchContext& c) {
  Params params{};
  params.rows = kernel_count(c.shape_in(0)[0]);
  params.expert_count = kernel_count(c.shape_in(0)[1]);
  params.k = kernel_count(c.node.attrs.get_int("k"));
  return params;
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  return {kernel(variant(c, "moe_route"), sizes<MoeRouteParams>(c), {c.in(0), c.out(0), c.out(1)},
                 flat_groups(c.shape_in(0)[0], 64))};
}

std::vector<ValueType> infer_grad(const InferContext& c) {
  LEMNOS_CHECK(c[1].shape == c[2].shape && c[1].shape == c[3].shape);
  return {c[0]};
}

void reference_grad(const ReferenceContext& c) {
  const HostTensor &logits = c.in(0), &weights = c.in(1), &experts = c.in(2), &dweights = c.in(3);
  const auto count = static_cast<size_t>(logits.shape[1]);
  const auto k = static_cast<size_t>(weights.shape[1]);
  for (size_t n = 0; n * k < weights.data.size(); ++n) {
    double mean = 0;
    for (size_t j = n * k; j < (n + 1) * k; ++j) mean += weights.data[j] * dweights.data[j];
    double* dlogits = &c.out(0).data[n * count];
    if (!c.attrs.get_bool("norm_topk_prob")) {
      const std::vector<double> p = softmax(&logits.data[n * count], count);
      for (size_t e = 0; e < count; ++e) dlogits[e] = -p[e] * mean;
    }
    for (size_t j = n * k; j < (n + 1) * k; ++j)
      dlogits[static_cast<size_t>(experts.data[j])] = weights.data[j] * (dweights.data[j] - mean);
  }
}

std::vector<KernelCall> dispatch_grad(const DispatchContext& c) {
  return {kernel(variant(c, "moe_route_grad"), sizes<MoeRouteGradParams>(c),
                 {c.in(0), c.in(1), c.in(2), c.in(3), c.out(0)},
                 flat_groups(c.shape_in(0)[0], 64))};
}

}  // namespace

extern const OpDef kMoeRouteOp;
extern const OpDef kMoeRouteGradOp;

namespace {

std::vector<ValueId> grad(GradContext& c) {
  const std::vector<ValueId>& out = c.node.outputs;
  if (!c.grad_outputs[0].valid()) return {ValueId{}};
  return {c.builder.emit1(kMoeRouteGradOp, {c.node.inputs[0], out[0], out[1], c.grad_outputs[0]},
                          c.node.attrs)};
}

}  // namespace

const OpDef kMoeRouteOp{.name = "moe_route",
                        .infer = infer,
                        .reference = reference,
                        .grad = grad,
                        .dispatch = dispatch};
const OpDef kMoeRouteGradOp{.name = "moe_route_grad",
                            .infer = infer_grad,
                            .reference = reference_grad,
                            .grad = nullptr,
                            .dispatch = dispatch_grad};

namespace ops {

Routing moe_route(Builder& b, ValueId logits, int64_t k, bool norm_topk_prob) {
  const std::vector<ValueId> out =
      b.emit(kMoeRouteOp, {logits}, {{"k", k}, {"norm_topk_prob", norm_topk_prob}});
  return {out[0], out[1]};
}

}  // namespace ops
}  // namespace lemnos
