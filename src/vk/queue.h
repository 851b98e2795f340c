#pragma once

#include <cstdint>
#include <span>

namespace lemnos::vk {

class Device;
class CommandBuffer;

/// The device's compute queue. Work runs in the order submitted; each submit has a number, counted
/// from 1, that a timeline semaphore reaches when it is done.
class Queue {
 public:
  explicit Queue(Device& device);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// One submit of finished command buffers; returns its number. Throws Error{device} on a lost
  /// device.
  uint64_t submit(std::span<const CommandBuffer* const> buffers);
  uint64_t submit(const CommandBuffer& buffer);
  /// Blocks until `number` is done or the time is over; false: not done yet.
  bool wait_for(uint64_t number, uint64_t timeout_ns);
  void wait(uint64_t number);
  /// Waits for all that was submitted.
  void wait_idle() { wait(last_); }

  uint64_t last_submitted() const { return last_; }
  uint64_t last_completed();

 private:
  void create_semaphore();

  Device& device_;
  uint64_t semaphore_ = 0;  ///< made at the first submit: null hardware can only compile
  uint64_t last_ = 0;
};

}  // namespace lemnos::vk
