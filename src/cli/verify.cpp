#include "base/error.h"
#include "cli/command.h"
#include "verify/verify.h"
#include "vk/device.h"

namespace lemnos::cli {
namespace {

constexpr int kOutsideTheGate = 1;

std::string gate_text(const std::optional<bool>& gate) { return !gate ? "-" : *gate ? "pass" : "FAIL"; }

void print(const VerifyReport& report) {
  print_line(format("{} on {}: {}", report.name, report.device, report.ok ? "inside the gates" : "OUTSIDE THE GATES"));
  print_line(format("{:<8}{:>12}{:>12}{:>12}{:>12}{:>12}  {:<6}{:<6}{}", "kind", "vs HF", "vs truth", "rms", "HF vs truth",
                    "HF rms", "gate1", "gate2", "worst tensor"));
  for (const KindFigures& kind : report.kinds) {
    const TensorFigures& f = kind.over_all;
    print_line(format("{:<8}{:>12.3e}{:>12.3e}{:>12.3e}{:>12.3e}{:>12.3e}  {:<6}{:<6}{}", kind.kind, f.max_abs_vs_hf,
                      f.max_abs_vs_truth, f.rms_vs_truth, f.hf_max_abs_vs_truth, f.hf_rms_vs_truth, gate_text(kind.gate1),
                      gate_text(kind.gate2), kind.worst_tensor));
  }
  for (const std::string& name : report.missing) print_line("missing here: " + name);
  for (const std::string& name : report.additional) print_line("not in the bundle: " + name);
  const Invariants& exact = report.invariants;
  if (exact.base_drift != 0) print_line(format("the frozen base moved by {:.3e}", exact.base_drift));
  if (exact.documents_bit_equal == false) print_line("a packed document has other bits than the document alone");
  if (exact.resume_bit_equal == false) print_line("resumed from step 1 it ends in other bits");
}

int run_verify(const Arguments& arguments) {
  const auto device = vk::Device::open(arguments.get("--device").value_or(""));
  const VerifyReport report = verify_reference(*device, arguments.at("REFERENCE"), {.gpu_path = arguments.has("--gpu-path"), .gemm = gemm_choice(arguments.get("--gemm").value_or("auto"))});
  if (arguments.json())
    print_json(to_json(report));
  else
    print(report);
  return report.ok ? 0 : kOutsideTheGate;
}

}  // namespace

extern const Command kCommand_verify;
const Command kCommand_verify{
    .name = "verify",
    .summary = "Runs a parity reference bundle and compares every tensor with Transformers",
    .options = {{"REFERENCE", "folder with reference.json", OptionSpec::Kind::value, true},
                kDeviceOption,
                {"--gemm", "kernels of matrix products: auto (default), fma or split"},
                {"--gpu-path", "the GPU's kernels, also on a CPU device", OptionSpec::Kind::flag}},
    .run = run_verify};

}  // namespace lemnos::cli
