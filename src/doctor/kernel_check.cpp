#include "doctor/kernel_check.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/plural.h"
#include "doctor/passes.h"
#include "runtime/profile.h"

namespace lemnos::doctor {
namespace {

struct Prepared {
  CheckedCase* checked;
  std::vector<InputValues> inputs;
  std::vector<Expected> expected;
};

/// The references, side by side: they are most of the host's work.
void evaluate(std::vector<Prepared>& prepared) {
  const std::exception_ptr error = run_parallel(prepared.size(), [&](size_t i) {
    const KernelCase& c = prepared[i].checked->kernel_case;
    prepared[i].inputs = values_of(c);
    prepared[i].expected = expected_of(c, prepared[i].inputs);
  });
  if (error) std::rethrow_exception(error);
}

void compile(vk::PipelineCache& pipelines, const std::vector<Prepared>& prepared, const DeviceProfile& profile) {
  std::vector<vk::PipelineKey> keys;
  for (const Prepared& p : prepared) {
    const SingleNode single = instantiate(p.checked->kernel_case);
    for (const KernelCall& call : single.node().op->dispatch({single.graph, single.node(), profile}))
      keys.push_back({call.shader, call.constants, 0});
  }
  pipelines.prepare(keys);
}

std::string name_of_case(const KernelCase& c) {
  std::string text = c.op->name;
  for (const std::string& kernel : c.kernels) text += " " + kernel;
  return text + (c.axes ? " at " + c.sizes_text() : std::string());
}

[[noreturn]] void refuse(const vk::Device& device, const CheckedCase& checked, int64_t failed) {
  const std::string name = name_of_case(checked.kernel_case);
  if (checked.finding.no_answer)
    fail(ErrorKind::corrupt_input, "{} with the attributes {} gives no finite number on finite inputs: {}. That is no fault of the device: "
         "look at the numbers of the model's config.json", name, to_string(checked.kernel_case.attrs), checked.finding.fault);
  fail(ErrorKind::device, "{} ({}) computes {} wrongly: {}. Nothing is trained with it; `lemnos doctor` checks all kernels, another "
       "driver version or --device may help{}",
       device.info().name, device.info().driver, name, checked.not_checked ? "it could not be checked" : checked.finding.fault,
       failed > 1 ? lemnos::format(" ({} fail)", counted(failed, "case")) : std::string());
}

}  // namespace

int64_t KernelReport::run() const {
  return std::count_if(cases.begin(), cases.end(), [](const CheckedCase& c) { return !c.remembered && !c.not_checked; });
}

int64_t KernelReport::failed() const {
  return std::count_if(cases.begin(), cases.end(), [](const CheckedCase& c) { return !c.ok(); });
}

int64_t KernelReport::kernels() const {
  std::set<std::string> names;
  for (const CheckedCase& c : cases) names.insert(c.kernel_case.kernels.begin(), c.kernel_case.kernels.end());
  return std::ssize(names);
}

KernelReport check_kernels(vk::Device& device, std::span<const Graph* const> graphs, const CheckOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  DeviceProfile profile = profile_of(device);
  if (options.gpu_path) profile.cpu_path = false;
  Passes passes(device.info());
  KernelReport report;
  for (KernelCase& c : collect_cases(graphs, profile)) report.cases.push_back({.kernel_case = std::move(c)});
  std::vector<Prepared> prepared;
  for (CheckedCase& checked : report.cases) {
    checked.not_checked = !checked.kernel_case.axes;
    checked.remembered = options.remember && passes.contains(checked.kernel_case.key);
    if (!checked.not_checked && !checked.remembered) prepared.push_back({&checked, {}, {}});
  }
  if (!prepared.empty()) {
    vk::PipelineCache pipelines(device);
    compile(pipelines, prepared, profile);
    evaluate(prepared);
    DeviceCheck check(device, pipelines, profile);
    for (Prepared& p : prepared) {
      p.checked->finding = check.run(p.checked->kernel_case, p.inputs, p.expected, options.runs);
      if (p.checked->ok()) passes.add(p.checked->kernel_case.key);
      p.inputs.clear();
      p.expected.clear();
    }
    passes.save();
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

void require_sound_kernels(vk::Device& device, std::span<const Graph* const> graphs) {
  const KernelReport report = check_kernels(device, graphs);
  if (report.run() > 0)
    log_info("kernel check: {} in {} on {}, {:.1f} s", counted(report.kernels(), "kernel"), counted(report.run(), "case"),
             device.info().name, report.seconds);
  for (const CheckedCase& checked : report.cases)
    if (!checked.ok()) refuse(device, checked, report.failed());
}

Json to_json(const KernelReport& report) {
  Json list = Json::array();
  for (const CheckedCase& checked : report.cases) {
    const KernelCase& c = checked.kernel_case;
    Json row, kernels = Json::array(), sizes = Json::object();
    for (const std::string& kernel : c.kernels) kernels.push_back(kernel);
    for (const auto& [axis, size] : c.sizes) sizes.set(std::string(1, axis), size);
    row.set("op", c.op->name);
    row.set("kernels", std::move(kernels));
    row.set("sizes", std::move(sizes));
    row.set("sampled", c.sampled);
    row.set("smaller_than_the_run", c.smaller);
    row.set("compared", checked.finding.compared);
    row.set("worst_of_allowed", checked.finding.worst);
    row.set("error", checked.finding.error);
    row.set("checked", !checked.not_checked);
    row.set("remembered", checked.remembered);
    row.set("ok", checked.ok());
    if (!checked.finding.fault.empty()) row.set("fault", checked.finding.fault);
    if (checked.finding.no_answer) row.set("reference_not_finite", true);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace lemnos::doctor
