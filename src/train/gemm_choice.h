#pragma once

#include <string_view>

#include "graph/builder.h"
#include "graph/kernel_call.h"

namespace lemnos {

/// How matrices are multiplied: plain FMA; in split precision on matrix units (ops/linear/gemm_split.comp), every
/// product; or split where the device has it and the weight is large, FMA elsewhere.
enum class GemmChoice : uint8_t { automatic, fma, split };

/// "auto", "fma" or "split". Throws Error{usage}.
GemmChoice gemm_choice(std::string_view name);
const char* name_of(GemmChoice choice);

/// What a choice means on a device. Throws Error{unsupported} where it cannot be had.
SplitGemm split_gemm(GemmChoice choice, const DeviceProfile& device);

}  // namespace lemnos
