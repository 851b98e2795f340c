#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "doctor/device_check.h"

namespace lemnos::doctor {

struct CheckedCase {
  KernelCase kernel_case;
  Finding finding;
  bool not_checked = false;  // op_axes.cpp does not list the op: counts as failed
  bool remembered = false;   // passed in an earlier run
  bool ok() const { return !not_checked && finding.fault.empty(); }
};

struct KernelReport {
  std::vector<CheckedCase> cases;
  double seconds = 0;
  int64_t run() const;  // cases that ran now
  int64_t failed() const;
  int64_t kernels() const;  // distinct ones (shader and constants) among all cases
};

struct CheckOptions {
  int runs = 2;            // of each case; all must give the same bits
  bool remember = true;    // skip what passed on this device, driver and build, and keep what passes
  bool gpu_path = false;   // the GPU's kernels also on a CPU device
};

/// Checks every kernel that the graphs use (collect_cases) on the device.
KernelReport check_kernels(vk::Device& device, std::span<const Graph* const> graphs, const CheckOptions& options = {});

/// Before a training: what has not passed yet is checked; one line in the log when anything was. Throws
/// Error{device} naming the first kernel that fails; Error{corrupt_input} when an attribute leads the
/// reference itself out of the finite numbers.
void require_sound_kernels(vk::Device& device, std::span<const Graph* const> graphs);

Json to_json(const KernelReport& report);

}  // namespace lemnos::doctor
