#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace lemnos::vk {

class Device;

/// How a texel buffer's elements are read: four floats, or two words.
enum class TexelFormat : uint8_t { f32x4, u32x2 };

/// Memory that a kernel reads as a uniform texel buffer; inside of one Buffer.
struct TexelRange {
  uint64_t address = 0;  ///< a multiple of 16
  uint64_t bytes = 0;
  TexelFormat format = TexelFormat::f32x4;
  auto operator<=>(const TexelRange&) const = default;
};

/// Texel buffers that a kernel may have, at bindings 0, 1 ... of set 0.
constexpr uint32_t kTexelBindings = 4;

/// Views and descriptor sets of the dispatches of one command buffer; each pair of ranges is made once.
class TexelSets {
 public:
  explicit TexelSets(Device& device) : device_(device) {}
  ~TexelSets();
  TexelSets(const TexelSets&) = delete;
  TexelSets& operator=(const TexelSets&) = delete;

  /// The VkDescriptorSet with these at bindings 0, 1, ...
  uint64_t set_of(std::span<const TexelRange> ranges);

 private:
  uint64_t view_of(const TexelRange& range);
  uint64_t new_set();

  Device& device_;
  std::map<TexelRange, uint64_t> views_;
  std::map<std::vector<TexelRange>, uint64_t> sets_;
  std::vector<uint64_t> pools_;
  uint32_t left_in_pool_ = 0;
};

}  // namespace lemnos::vk
