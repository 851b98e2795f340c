#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "graph/kernel_call.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace lemnos {

/// A call with its addresses filled in.
struct BoundCall {
  const KernelCall* call = nullptr;
  std::vector<std::byte> push;
  std::array<uint32_t, 3> groups{1, 1, 1};
  std::vector<vk::TexelRange> texels = {};
};

/// `address_of` tells where the device finds a buffer (0: an absent one). `call` must outlive the result.
BoundCall bind(const KernelCall& call, const std::function<uint64_t(const BufferRef&)>& address_of);

/// The calls, of which none depends on another, those of one kind as one where their ranges of memory follow on each
/// other (KernelCall::flat). Nothing that is computed differs.
std::vector<BoundCall> joined(std::vector<BoundCall> calls);

void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const BoundCall& call);

}  // namespace lemnos
