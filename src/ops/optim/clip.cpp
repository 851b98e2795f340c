#include "ops/optim/clip.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/optim/clip.params.h"
#include "ops/optim/step_params.h"

namespace lemnos {
namespace {

constexpr int64_t kChunk = 4096;  // elements of one partial sum, as in square_sum.comp
constexpr int64_t kMostPartials = int64_t{1} << 20;  // keeps clip.comp under lavapipe's loop limit
enum In : size_t { kNorm, kCoef, kStepValues, kFirstGradient };

int64_t chunks(const Shape& shape) { return (element_count(shape) + kChunk - 1) / kChunk; }

std::vector<ValueType> infer(const InferContext& c) {
  LEMNOS_CHECK(c[kNorm].shape == Shape{1} && c[kCoef].shape == Shape{1});
  LEMNOS_CHECK(c[kStepValues].shape == Shape{kStepFloats});
  int64_t partials = 0;
  for (size_t i = kFirstGradient; i < c.inputs.size(); ++i) partials += chunks(c[i].shape);
  if (partials > kMostPartials)
    fail(ErrorKind::unsupported, "more than {} trainable parameters are not supported at once; train fewer, with LoRA say",
         kMostPartials * kChunk);
  return {c[kNorm], c[kCoef], {{partials}, DType::f32}};
}

void reference(const ReferenceContext& c) {
  std::vector<double>& partials = c.out(2).data;
  size_t first = 0;
  for (size_t i = kFirstGradient; i < c.inputs.size(); ++i) {
    const std::vector<double>& g = c.in(i).data;
    for (size_t j = 0; j < g.size(); ++j) partials[first + j / kChunk] += g[j] * g[j];
    first += static_cast<size_t>(chunks(c.in(i).shape));
  }
  const double sum = std::accumulate(partials.begin(), partials.end(), 0.0);
  const double norm = std::sqrt(sum), limit = c.in(kStepValues).data[kMaxNorm];
  c.out(0).data[0] = norm;
  c.out(1).data[0] = !std::isfinite(norm) ? 0.0
                     : limit <= 0         ? 1.0
                                          : std::min(1.0, limit / (norm + 1e-6));
}

std::vector<KernelCall> dispatch(const DispatchContext& c) {
  const std::string path = c.device.cpu_path ? ".cpu" : ".gpu";
  std::vector<KernelCall> calls;
  uint32_t first = 0;
  for (size_t i = kFirstGradient; i < c.node.inputs.size(); ++i) {
    const int64_t count = chunks(c.shape_in(i));
    SquareSumParams params{};
    params.count = static_cast<uint32_t>(element_count(c.shape_in(i)));
    params.first_partial = first;
    calls.push_back(
        kernel("square_sum" + path, params, {c.in(i), c.out(2)}, flat_groups(count, 1)));
    calls.back().independent = i > kFirstGradient;
    first += static_cast<uint32_t>(count);
  }
  ClipParams params{};
  params.count = first;
  calls.push_back(
      kernel("clip" + path, params, {c.out(2), c.in(kStepValues), c.out(0), c.out(1)}, {1, 1, 1}));
  return calls;
}

}  // namespace

extern const OpDef kClipGradientsOp;

const OpDef kClipGradientsOp{.name = "clip_gradients",
                             .infer = infer,
                             .reference = reference,
                             .grad = nullptr,
                             .dispatch = dispatch,
                             .inplace = {{0, 0}, {1, 1}}};

namespace ops {

ClipValues clip_gradients(Builder& b, const std::vector<ValueId>& gradients, ValueId step_f32) {
  std::vector<ValueId> inputs{b.state_once("grad_norm", {1}), b.state_once("clip_coef", {1}),
                              step_f32};
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  const std::vector<ValueId> out = b.emit(kClipGradientsOp, std::move(inputs));
  return {out[0], out[1]};
}

}  // namespace ops
}  // namespace lemnos
