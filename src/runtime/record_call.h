#pragma once

#include <functional>

#include "graph/kernel_call.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"

namespace lemnos {

/// Records one call; `address_of` tells where the device finds a buffer (0: an absent one).
void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const KernelCall& call,
                 const std::function<uint64_t(const BufferRef&)>& address_of);

}  // namespace lemnos
