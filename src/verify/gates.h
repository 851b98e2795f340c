#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace lemnos {

/// One tensor of a comparison. `counted` says per element whether it counts (empty: all do).
struct ComparedTensor {
  std::string name;  // "logits", "grad/<disk name>", "step1/<disk name>"
  std::vector<float> ours;
  std::vector<float> hf;
  std::vector<double> truth;  // empty when the bundle has none
  std::vector<bool> counted;
};

/// What the gates depend on (docs/numerics.md; the protocol's numbers are constants of gates.cpp).
struct GateContext {
  bool tiny = false;             // fixture tiny
  bool stock = false;            // profile stock: eps 1e-8
  bool optimizer_alone = false;  // one ULP of the parameter
  bool near_zero = false;        // the optimizer alone on small parameters: against the truth
  double learning_rate = 0;
};

struct TensorFigures {
  std::string name;
  double max_abs_vs_hf = 0;
  double max_abs_vs_truth = 0, rms_vs_truth = 0;
  double hf_max_abs_vs_truth = 0, hf_rms_vs_truth = 0;
  double max_ulp = 0;   // against HF, in ULPs of HF's element
  double one_ulp = 0;   // of the tensor's largest magnitude
  int64_t elements = 0, off = 0, hf_off = 0;  // off: more than 2e-7 from the truth
  bool finite = true;
  bool has_truth = false;
};

struct KindFigures {
  std::string kind;  // "logits", "grad", "step1" ...
  std::string worst_tensor;
  TensorFigures over_all;
  std::optional<bool> gate1, gate2;
};

/// |a - b|; infinite when that is not a number.
double distance(double a, double b);

/// The bundle's numbers are finite; ours may be anything: NaN counts as infinitely far from everything.
TensorFigures figures_of(const ComparedTensor& tensor);

/// Gates per kind, in the order the kinds first appear.
std::vector<KindFigures> judge(std::span<const TensorFigures> tensors, const GateContext& context);

Json json_or_null(const std::optional<bool>& value);
Json to_json(const TensorFigures& figures);
Json to_json(const KindFigures& kind);

}  // namespace lemnos
