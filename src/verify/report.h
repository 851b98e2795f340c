#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "verify/evidence.h"
#include "verify/gates.h"
#include "verify/reference.h"

namespace lemnos {

/// What an engine computed, under the bundle's names: "logits", "grad/<disk name>", "step1/..." ...
using NamedTensors = std::map<std::string, std::vector<float>>;

/// What must hold exactly, besides the gates.
struct Invariants {
  double base_drift = 0;                    // largest change of a frozen parameter; must be exactly 0
  std::optional<bool> documents_bit_equal;  // packed: each document has the bits of the document alone
  std::optional<bool> resume_bit_equal;     // continued from the checkpoint of step 1
};

struct VerifyReport {
  std::string name;
  std::string device;
  bool ok = false;
  std::vector<TensorFigures> tensors;
  std::vector<KindFigures> kinds;
  std::vector<std::string> missing;     // in the bundle, not from us
  std::vector<std::string> additional;  // from us, not in the bundle
  Invariants invariants;
  std::vector<double> loss, hf_loss;
  Evidence evidence;
};

/// Compares `ours` with the bundle, every tensor of either side, and judges by the gates.
/// Error{corrupt_input} for a tensor of another size, or a bundle with numbers that are not finite.
VerifyReport judge_results(const Reference& reference, NamedTensors ours, const Invariants& invariants);

Json to_json(const VerifyReport& report);

}  // namespace lemnos
