#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos::vk {

class CommandBuffer;
class Device;

/// Device time of named stretches of one command buffer, measured anew at every submit of it.
class Profiler {
 public:
  struct Scope {
    std::string name;
    double begin_ms = 0;  ///< since the first scope began
    double ms = 0;
  };

  /// `capacity` scopes at most.
  Profiler(Device& device, uint32_t capacity);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  /// Opens a scope and returns it, to be closed with `end`. Scopes may nest or overlap.
  uint32_t begin(CommandBuffer& commands, std::string_view name);
  void end(CommandBuffer& commands, uint32_t scope);
  /// The last finished submit's times; waits for it. Zeros on a device without timestamps.
  std::vector<Scope> read();

 private:
  Device& device_;
  uint32_t capacity_;
  uint64_t pool_ = 0;
  std::vector<std::string> names_;
};

}  // namespace lemnos::vk
