#include "verify/evidence.h"

#include <set>

#include "base/sha256.h"
#include "graph/op.h"
#include "io/file.h"
#include "vk/shaders.h"

namespace lemnos {

std::string spirv_sha256(const EnginePlan& plan, const DeviceProfile& device) {
  std::set<std::string, std::less<>> used;
  for (const auto* list : {&plan.training, &plan.logits})
    for (const PlannedGraph& planned : *list)
      for (const Node& node : planned.graph.nodes)
        for (const KernelCall& call : node.op->dispatch({planned.graph, node, device})) used.insert(call.shader);
  std::map<std::string_view, std::span<const uint32_t>> kernels;
  for (const vk::Shader& shader : vk::shaders())
    if (used.contains(shader.name)) kernels[shader.name] = shader.words;
  Sha256 sha;
  for (const auto& [name, words] : kernels) {
    sha.add(name);
    sha.end_part();
    sha.add(std::as_bytes(words));
  }
  return sha.hex();
}

std::string tensors_sha256(const std::map<std::string, std::vector<float>>& tensors) {
  Sha256 sha;
  for (const auto& [name, values] : tensors) {
    sha.add(name);
    sha.end_part();
    sha.add(std::as_bytes(std::span(values)));
  }
  return sha.hex();
}

std::string executable_sha256() {
  const MappedFile file("/proc/self/exe");
  Sha256 sha;
  sha.add(file.bytes());
  return sha.hex();
}

}  // namespace lemnos
