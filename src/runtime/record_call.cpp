#include "runtime/record_call.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace lemnos {
namespace {

template <typename T>
T value_at(const BoundCall& call, size_t byte) {
  T value;
  std::memcpy(&value, call.push.data() + byte, sizeof value);
  return value;
}

template <typename T>
void set_value(std::vector<std::byte>& push, size_t byte, T value) {
  std::memcpy(push.data() + byte, &value, sizeof value);
}

uint64_t address_at(const BoundCall& call, size_t buffer) { return value_at<uint64_t>(call, 8 * buffer); }
uint32_t count_of(const BoundCall& call) { return value_at<uint32_t>(call, call.call->flat.count_at); }
bool is_flat(const BoundCall& call) { return call.call->flat.elements_per_group > 0; }

/// All that calls have in common which may be joined.
using Kind = std::tuple<std::string, std::vector<uint32_t>, std::vector<std::byte>>;

Kind kind_of(const BoundCall& call) {
  std::vector<std::byte> common = call.push;
  const FlatRange& flat = call.call->flat;
  for (size_t i = 0; i < flat.bytes.size(); ++i)
    if (flat.bytes[i] > 0) set_value(common, 8 * i, uint64_t{0});
  set_value(common, flat.count_at, uint32_t{0});
  return {call.call->shader, call.call->constants, common};
}

bool follows(const BoundCall& next, const BoundCall& last) {
  const std::vector<uint32_t>& bytes = last.call->flat.bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] > 0 && address_at(next, i) != address_at(last, i) + uint64_t{count_of(last)} * bytes[i]) return false;
  constexpr uint64_t kMost = uint64_t{1} << 31;  // kernels index with 31 bits
  return uint64_t{count_of(last)} + count_of(next) < kMost;
}

void take_in(BoundCall& call, const BoundCall& next) {
  const FlatRange& flat = call.call->flat;
  const uint32_t count = count_of(call) + count_of(next);
  set_value(call.push, flat.count_at, count);
  call.groups = flat_groups(count, flat.elements_per_group);
}

}  // namespace

BoundCall bind(const KernelCall& call, const std::function<uint64_t(const BufferRef&)>& address_of) {
  BoundCall bound{&call, call.push, call.groups};
  for (size_t i = 0; i < call.buffers.size(); ++i) set_value(bound.push, 8 * i, address_of(call.buffers[i]));
  for (const TexelInput& input : call.texels)
    bound.texels.push_back({address_of(input.from), static_cast<uint64_t>(input.bytes),
                            input.words ? vk::TexelFormat::u32x2 : vk::TexelFormat::f32x4});
  return bound;
}

std::vector<BoundCall> joined(std::vector<BoundCall> calls) {
  std::vector<BoundCall> result;
  std::map<Kind, std::vector<BoundCall>> kinds;
  for (BoundCall& call : calls) {
    if (is_flat(call)) kinds[kind_of(call)].push_back(std::move(call));
    else result.push_back(std::move(call));
  }
  for (auto& [kind, alike] : kinds) {
    std::sort(alike.begin(), alike.end(),
              [](const BoundCall& a, const BoundCall& b) { return address_at(a, 0) < address_at(b, 0); });
    const size_t before = result.size();
    for (BoundCall& call : alike) {
      if (result.size() > before && follows(call, result.back())) take_in(result.back(), call);
      else result.push_back(std::move(call));
    }
  }
  return result;
}

void record_call(vk::CommandBuffer& commands, vk::PipelineCache& pipelines, const BoundCall& call) {
  commands.dispatch(pipelines.get({call.call->shader, call.call->constants, 0}), call.push, call.groups, call.texels);
}

}  // namespace lemnos
