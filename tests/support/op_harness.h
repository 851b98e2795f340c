#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/autodiff.h"
#include "support/device.h"
#include "support/finite_difference.h"

namespace lemnos::test {

/// One op (or a few) with inputs. See check_op.
struct OpCase {
  /// Declares inputs, parameters and states and returns the outputs to compare. The first output is
  /// differentiated (under a random upstream gradient) when `wanted` is not empty.
  std::function<std::vector<ValueId>(Builder&)> build;
  /// Every input and parameter by name; states that are not named start at zero. Floats must be
  /// exact in the value's dtype (random_tensor's are exact in f32; see `narrow` for bf16 and f16).
  std::map<std::string, HostTensor> values;
  /// Inputs, parameters or states whose gradient is compared too.
  std::vector<std::string> wanted;
  /// States compared after the run.
  std::vector<std::string> states;
  /// Allowed error of an element: `ulps` * 2^-24 * the largest magnitude of its tensor.
  double ulps = 16;
  /// The largest magnitude counts as at least this: for results that are zero because terms of that
  /// size cancel.
  double magnitude = 1e-30;
  /// Small cases also check autodiff's gradients against finite differences.
  bool finite_differences = false;
};

/// Runs the case in the double interpreter and on the device, on each code path the device has
/// (CPU kernels and GPU kernels on lavapipe), with and without memory sharing, twice; compares
/// values, demands equal bits between all runs of a path.
void check_op(const OpCase& test);

/// Rounds to the nearest value that `dtype` can hold.
HostTensor narrow(HostTensor tensor, DType dtype);

/// Bytes of a tensor as the device stores it, and back.
std::vector<std::byte> encode(const HostTensor& tensor, DType dtype);
HostTensor decode(const Shape& shape, DType dtype, const std::vector<std::byte>& bytes);

/// A graph on the device with its own storage, for tests.
class DeviceRun {
 public:
  DeviceRun(Graph graph, bool gpu_path, bool alias = true);
  ~DeviceRun();
  void set(std::string_view name, const HostTensor& tensor);
  void run();  // zero, micro, update
  HostTensor get(ValueId id);
  HostTensor get(std::string_view name);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lemnos::test
