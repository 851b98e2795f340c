#include "verify/verify.h"

#include "verify/documents.h"
#include "verify/reference_run.h"

namespace lemnos {

VerifyReport verify_reference(vk::Device& device, const std::filesystem::path& bundle, const VerifyOptions& options) {
  const Reference reference = open_reference(bundle);
  const Bench bench(device, options);
  ReferenceRun run(bench, reference);
  std::optional<bool> documents, resumed;
  if (reference.packed) documents = documents_have_their_own_bits(bench, run, reference);
  std::vector<double> loss;
  NamedTensors ours = run.compute(loss);
  if (reference.resumes()) resumed = run.resumes_in_the_same_bits(ours);
  Evidence evidence = run.evidence();
  evidence.tensors_sha256 = tensors_sha256(ours);
  VerifyReport report = judge_results(reference, std::move(ours), {run.base_drift(), documents, resumed});
  report.evidence = std::move(evidence);
  report.device = device.info().name;
  report.loss = std::move(loss);
  return report;
}

}  // namespace lemnos
