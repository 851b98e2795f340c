#pragma once

#include <memory>
#include <optional>

#include "doctor/case_values.h"
#include "vk/buffer.h"
#include "vk/device.h"
#include "vk/pipeline.h"
#include "vk/recorder.h"
#include "vk/transfer.h"

namespace lemnos::doctor {

/// What a case gave on the device.
struct Finding {
  double worst = 0;    // largest error / allowed error
  double error = 0;    // that error
  int64_t compared = 0;
  std::string fault;   // empty: passed
  bool no_answer = false;  // the reference itself is not finite there, so the fault is not the device's
};

/// Runs single nodes on a device between guard words, more than once: the first run shares memory as a
/// plan may, the second does not, and so on by turns.
class DeviceCheck {
 public:
  DeviceCheck(vk::Device& device, vk::PipelineCache& pipelines, const DeviceProfile& profile);

  Finding run(const KernelCase& kernel_case, const std::vector<InputValues>& inputs, const std::vector<Expected>& expected,
              int runs);

 private:
  struct Place {
    vk::Buffer buffer;
    uint64_t bytes;  // of the value, a multiple of 4
    std::optional<vk::Buffer> numbers;  // explicit ones, copied in before each run
  };
  struct Recording {
    const SingleNode& single;
    const std::vector<KernelCall>& calls;
    const std::vector<const InputValues*>& contents;  // by value; null: an output
    std::vector<Place>& places;
  };

  const vk::Buffer& pool(Pool which);
  Place make_place(uint64_t bytes, const InputValues* contents);
  void fill_from_pool(vk::CommandBuffer& commands, const InputValues& from, const Place& to);
  void record(vk::CommandBuffer& commands, const Recording& recording, const std::vector<size_t>& stored_in);
  std::string damaged_guard(const Place& place, size_t value);

  vk::Device& device_;
  vk::PipelineCache& pipelines_;
  const DeviceProfile& profile_;
  vk::Transfer transfer_;
  std::array<std::optional<vk::Buffer>, kPools> pools_;
};

}  // namespace lemnos::doctor
