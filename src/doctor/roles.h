#pragma once

#include <vector>

#include "doctor/case_values.h"

namespace lemnos::doctor {

/// The numbers of input i of a case by its role; empty for roles that random numbers suit. Inputs of
/// other roles, which some are worked out from, are already in `inputs`.
std::vector<double> numbers_for(const KernelCase& kernel_case, size_t i, const std::vector<InputValues>& inputs);

/// Lengths of the segments in the table of tiles of a case.
std::vector<int64_t> segments_of(const KernelCase& kernel_case);

}  // namespace lemnos::doctor
