#include "runtime/record_call.h"

#include <cstring>

namespace lemnos {

void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const KernelCall& call,
                 const std::function<uint64_t(const BufferRef&)>& address_of) {
  std::vector<std::byte> push = call.push;
  for (size_t i = 0; i < call.buffers.size(); ++i) {
    const uint64_t address = address_of(call.buffers[i]);
    std::memcpy(push.data() + 8 * i, &address, 8);
  }
  std::vector<vk::TexelRange> texels;
  for (const TexelInput& input : call.texels)
    texels.push_back({address_of(input.from), static_cast<uint64_t>(input.bytes),
                      input.words ? vk::TexelFormat::u32x2 : vk::TexelFormat::f32x4});
  commands.dispatch(pipelines.get({call.shader, call.constants, 0}), push, call.groups, texels);
}

}  // namespace lemnos
