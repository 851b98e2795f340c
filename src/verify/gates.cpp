#include "verify/gates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace lemnos {
namespace {

/// Gate 1: ours against HF, absolute.
constexpr double kGate1 = 2e-7;
/// Gate 2: ours against HF's own error, both against float64.
constexpr double kRmsFactor = 2.0;
constexpr double kLargestFactor = 3.0;
/// The optimizer alone on parameters near zero: ours against torch's own error, RMS and largest.
constexpr double kNearZeroFactor = 2.0;
/// Steps of profile stock: elements off by more than kGate1, against HF's count.
constexpr int64_t kCountFactor = 2;
constexpr int64_t kCountFloor = 4;

double ulp_of(double magnitude) {
  const float x = std::abs(static_cast<float>(magnitude));
  return static_cast<double>(std::nextafter(x, std::numeric_limits<float>::infinity())) - static_cast<double>(x);
}

std::string kind_of(const std::string& name) { return name.substr(0, name.find('/')); }

/// RMS over several tensors from their own.
struct RootMeanSquare {
  double sum = 0;
  int64_t count = 0;
  void add(double rms, int64_t elements) {
    sum += rms * rms * static_cast<double>(elements);
    count += elements;
  }
  double value() const { return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count)); }
};

TensorFigures combine(const std::vector<const TensorFigures*>& tensors, std::string& worst) {
  TensorFigures all;
  RootMeanSquare ours, hf;
  all.has_truth = !tensors.empty();
  for (const TensorFigures* t : tensors) {
    if (worst.empty() || t->max_abs_vs_hf > all.max_abs_vs_hf) worst = t->name;
    all.max_abs_vs_hf = std::max(all.max_abs_vs_hf, t->max_abs_vs_hf);
    all.max_abs_vs_truth = std::max(all.max_abs_vs_truth, t->max_abs_vs_truth);
    all.hf_max_abs_vs_truth = std::max(all.hf_max_abs_vs_truth, t->hf_max_abs_vs_truth);
    all.max_ulp = std::max(all.max_ulp, t->max_ulp);
    all.off += t->off;
    all.hf_off += t->hf_off;
    all.elements += t->elements;
    all.finite = all.finite && t->finite;
    all.has_truth = all.has_truth && t->has_truth;
    ours.add(t->rms_vs_truth, t->elements);
    hf.add(t->hf_rms_vs_truth, t->elements);
  }
  all.rms_vs_truth = ours.value();
  all.hf_rms_vs_truth = hf.value();
  return all;
}

bool stock_steps(const KindFigures& kind, const GateContext& context) {
  const TensorFigures& all = kind.over_all;
  if (all.off > std::max(kCountFactor * all.hf_off, kCountFloor)) return false;
  const double steps = std::stod(kind.kind.substr(4));
  return all.max_abs_vs_truth <= 2 * context.learning_rate * steps;
}

bool gate2(const KindFigures& kind, const std::vector<const TensorFigures*>& tensors, const GateContext& context) {
  const TensorFigures& all = kind.over_all;
  if (all.rms_vs_truth > kRmsFactor * all.hf_rms_vs_truth) return false;
  if (context.stock && kind.kind.starts_with("step")) return stock_steps(kind, context);
  const double allowed = kLargestFactor * all.hf_max_abs_vs_truth;
  return std::all_of(tensors.begin(), tensors.end(), [&](const TensorFigures* t) {
    return t->max_abs_vs_truth <= std::max(allowed, t->one_ulp);
  });
}

/// Where parameters pass near zero an ULP says nothing: no further from the truth than torch twice over.
bool near_zero(const TensorFigures& all) {
  return all.rms_vs_truth <= kNearZeroFactor * all.hf_rms_vs_truth &&
         all.max_abs_vs_truth <= kNearZeroFactor * all.hf_max_abs_vs_truth;
}

void apply_gates(KindFigures& kind, const std::vector<const TensorFigures*>& tensors, const GateContext& context) {
  const TensorFigures& all = kind.over_all;
  if (context.optimizer_alone && context.near_zero) {
    kind.gate2 = all.has_truth && all.finite && near_zero(all);
    return;
  }
  if (context.optimizer_alone) {
    kind.gate1 = all.finite && all.max_ulp <= 1.0;
    return;
  }
  if (context.tiny && !context.stock) kind.gate1 = all.finite && all.max_abs_vs_hf <= kGate1;
  if (all.has_truth) kind.gate2 = all.finite && gate2(kind, tensors, context);
}

}  // namespace

Json json_or_null(const std::optional<bool>& value) { return value ? Json(*value) : Json(); }

double distance(double a, double b) {
  const double d = std::abs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

TensorFigures figures_of(const ComparedTensor& tensor) {
  LEMNOS_CHECK(tensor.ours.size() == tensor.hf.size(), "{}", tensor.name);
  LEMNOS_CHECK(tensor.truth.empty() || tensor.truth.size() == tensor.hf.size(), "{}", tensor.name);
  TensorFigures f{.name = tensor.name, .has_truth = !tensor.truth.empty()};
  double squares = 0, hf_squares = 0, largest = 0;
  for (size_t i = 0; i < tensor.ours.size(); ++i) {
    if (!tensor.counted.empty() && !tensor.counted[i]) continue;
    ++f.elements;
    const double ours = tensor.ours[i], hf = tensor.hf[i];
    f.finite = f.finite && std::isfinite(ours);
    f.max_abs_vs_hf = std::max(f.max_abs_vs_hf, distance(ours, hf));
    f.max_ulp = std::max(f.max_ulp, distance(ours, hf) / ulp_of(hf));
    if (!f.has_truth) continue;
    const double truth = tensor.truth[i], error = distance(ours, truth), hf_error = distance(hf, truth);
    f.max_abs_vs_truth = std::max(f.max_abs_vs_truth, error);
    f.hf_max_abs_vs_truth = std::max(f.hf_max_abs_vs_truth, hf_error);
    squares += error * error;
    hf_squares += hf_error * hf_error;
    f.off += error > kGate1 ? 1 : 0;
    f.hf_off += hf_error > kGate1 ? 1 : 0;
    largest = std::max(largest, std::abs(truth));
  }
  const double count = static_cast<double>(std::max<int64_t>(f.elements, 1));
  f.rms_vs_truth = std::sqrt(squares / count);
  f.hf_rms_vs_truth = std::sqrt(hf_squares / count);
  f.one_ulp = ulp_of(largest);
  return f;
}

std::vector<KindFigures> judge(std::span<const TensorFigures> tensors, const GateContext& context) {
  std::vector<KindFigures> kinds;
  std::vector<std::vector<const TensorFigures*>> members;
  for (const TensorFigures& tensor : tensors) {
    const std::string kind = kind_of(tensor.name);
    const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const KindFigures& k) { return k.kind == kind; });
    const auto index = static_cast<size_t>(found - kinds.begin());
    if (found == kinds.end()) {
      kinds.push_back({.kind = kind});
      members.emplace_back();
    }
    members[index].push_back(&tensor);
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    kinds[i].over_all = combine(members[i], kinds[i].worst_tensor);
    apply_gates(kinds[i], members[i], context);
  }
  return kinds;
}

Json to_json(const TensorFigures& f) {
  Json out;
  out.set("name", f.name);
  out.set("kind", kind_of(f.name));
  out.set("finite", f.finite);
  out.set("max_abs_vs_hf", f.max_abs_vs_hf);
  out.set("max_abs_vs_truth", f.has_truth ? Json(f.max_abs_vs_truth) : Json());
  out.set("rms_vs_truth", f.has_truth ? Json(f.rms_vs_truth) : Json());
  out.set("hf_max_abs_vs_truth", f.has_truth ? Json(f.hf_max_abs_vs_truth) : Json());
  out.set("hf_rms_vs_truth", f.has_truth ? Json(f.hf_rms_vs_truth) : Json());
  return out;
}

Json to_json(const KindFigures& kind) {
  Json out = to_json(kind.over_all);
  out.erase("name");
  out.set("kind", kind.kind);
  out.set("worst_tensor", kind.worst_tensor);
  out.set("max_ulp", kind.over_all.max_ulp);
  out.set("gate1", json_or_null(kind.gate1));
  out.set("gate2", json_or_null(kind.gate2));
  return out;
}

}  // namespace lemnos
