#include "verify/report.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/tensor_codec.h"

namespace lemnos {
namespace {

template <typename T>
void require_finite(const std::string& name, const std::vector<T>& values) {
  if (!std::all_of(values.begin(), values.end(), [](T x) { return std::isfinite(x); }))
    fail(ErrorKind::corrupt_input, "{} of the bundle holds numbers that are not finite; make the bundle anew", name);
}

void require_size(const std::string& name, size_t found, size_t expected) {
  if (found != expected)
    fail(ErrorKind::corrupt_input, "{} has {} elements in the bundle, expected {}", name, found, expected);
}

bool is_logits(const std::string& name) { return name == "logits" || name == kBaseLogits; }

ComparedTensor compared(const Reference& reference, const std::string& name, std::vector<float> ours) {
  ComparedTensor tensor{.name = name, .ours = std::move(ours)};
  tensor.hf = decode_f32(*reference.tensors.find(name));
  require_size(name, tensor.hf.size(), tensor.ours.size());
  require_finite(name, tensor.hf);
  if (const TensorView* truth = reference.tensors.find("truth/" + name)) {
    tensor.truth = decode_f64(*truth);
    require_size("truth/" + name, tensor.truth.size(), tensor.hf.size());
    require_finite("truth/" + name, tensor.truth);
  }
  if (!is_logits(name)) return tensor;
  const size_t vocabulary = tensor.hf.size() / reference.counted_tokens.size();
  for (const bool counted : reference.counted_tokens) tensor.counted.insert(tensor.counted.end(), vocabulary, counted);
  return tensor;
}

bool is_result(const std::string& name) {
  return is_logits(name) || name.starts_with("grad/") || name.starts_with("step");
}

Json to_json(const std::vector<std::string>& names) {
  Json out = Json::array();
  for (const std::string& name : names) out.push_back(name);
  return out;
}

void add_evidence(Json& out, const Evidence& evidence) {
  out.set("family", evidence.claim.program.family);
  out.set("stage", evidence.claim.program.stage);
  out.set("features", to_json(evidence.claim.features));
  out.set("ops", to_json(evidence.claim.program.ops));
  out.set("sources", evidence.sources);
  out.set("spirv", evidence.spirv);
  out.set("binary", evidence.binary);
  out.set("driver", evidence.driver);
  out.set("paths", evidence.kernels);
  out.set("gemm", evidence.gemm);
  out.set("tensors_sha256", evidence.tensors_sha256);
}

bool all_green(const VerifyReport& report) {
  const Invariants& exact = report.invariants;
  bool green = report.missing.empty() && report.additional.empty() && !report.kinds.empty() && exact.base_drift == 0 &&
               exact.documents_bit_equal.value_or(true) && exact.resume_bit_equal.value_or(true);
  for (const KindFigures& kind : report.kinds)
    green = green && kind.gate1.value_or(true) && kind.gate2.value_or(true) && (kind.gate1 || kind.gate2);
  return green;
}

}  // namespace

VerifyReport judge_results(const Reference& reference, NamedTensors ours, const Invariants& invariants) {
  VerifyReport report{.name = reference.name, .invariants = invariants, .hf_loss = reference.loss};
  for (const std::string& name : reference.names("")) {
    if (!is_result(name)) continue;
    const auto found = ours.find(name);
    if (found == ours.end()) {
      report.missing.push_back(name);
      continue;
    }
    report.tensors.push_back(figures_of(compared(reference, name, std::move(found->second))));
    ours.erase(found);
  }
  for (const auto& [name, values] : ours) report.additional.push_back(name);
  report.kinds = judge(report.tensors, {.tiny = reference.fixture == "tiny" || reference.fixture.empty(),
                                        .stock = reference.profile == "stock",
                                        .optimizer_alone = reference.given_gradients,
                                        .near_zero = reference.near_zero,
                                        .learning_rate = reference.learning_rate});
  report.ok = all_green(report);
  return report;
}

Json to_json(const VerifyReport& report) {
  const auto list = [](const auto& items, auto convert) {
    Json out = Json::array();
    for (const auto& item : items) out.push_back(convert(item));
    return out;
  };
  const auto number = [](double x) { return Json(x); };
  Json out;
  out.set("ok", report.ok);
  out.set("name", report.name);
  out.set("device", report.device);
  out.set("kinds", list(report.kinds, [](const KindFigures& k) { return to_json(k); }));
  out.set("tensors", list(report.tensors, [](const TensorFigures& t) { return to_json(t); }));
  out.set("missing", to_json(report.missing));
  out.set("additional", to_json(report.additional));
  out.set("base_drift", report.invariants.base_drift);
  out.set("documents_bit_equal", json_or_null(report.invariants.documents_bit_equal));
  out.set("resume_bit_equal", json_or_null(report.invariants.resume_bit_equal));
  out.set("loss", list(report.loss, number));
  out.set("hf_loss", list(report.hf_loss, number));
  add_evidence(out, report.evidence);
  return out;
}

}  // namespace lemnos
