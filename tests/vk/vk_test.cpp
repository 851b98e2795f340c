#include <functional>
#include <numeric>

#include "base/error.h"
#include "ops/elementwise/fill.params.h"
#include "support/device.h"
#include "vk/buffer.h"
#include "vk/profiler.h"
#include "vk/queue.h"
#include "vk/recorder.h"
#include "vk/transfer.h"

namespace lemnos::vk {
namespace {

using VulkanTest = test::DeviceTest;

ErrorKind kind_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.kind();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorKind::usage;
}

FillParams fill_params(const Buffer& buffer, uint32_t count, float value) {
  FillParams params{};
  params.y = {static_cast<uint32_t>(buffer.address()),
              static_cast<uint32_t>(buffer.address() >> 32)};
  params.count = count;
  params.value = value;
  return params;
}

void record_fill(CommandBuffer& commands, const Pipeline& pipeline, const Buffer& buffer,
                 uint32_t count, float value) {
  const FillParams params = fill_params(buffer, count, value);
  commands.dispatch(pipeline, std::as_bytes(std::span(&params, 1)), {(count + 63) / 64, 1, 1});
}

TEST_F(VulkanTest, AKernelFillsExactlyItsRange) {
  Buffer buffer(device(), 1000 * 4, MemoryKind::device, "a test");
  CommandBuffer commands(device());
  commands.fill(buffer, 0, buffer.size(), 0);
  commands.barrier();
  record_fill(commands, pipelines().get({"fill", {}}), buffer, 777, 2.5f);
  commands.finish();
  device().queue().wait(device().queue().submit(commands));
  std::vector<float> host(1000);
  Transfer(device()).download(buffer, 0, writable_bytes_of(host));
  for (size_t i = 0; i < host.size(); ++i) ASSERT_EQ(host[i], i < 777 ? 2.5f : 0.0f) << i;
}

TEST_F(VulkanTest, ARecordedBufferReplays) {
  Buffer buffer(device(), 64 * 4, MemoryKind::device, "a test");
  Transfer transfer(device());
  CommandBuffer commands(device());
  record_fill(commands, pipelines().get({"fill", {}}), buffer, 64, 1.0f);
  commands.finish();
  std::vector<float> host(64);
  for (int round = 0; round < 2; ++round) {
    transfer.upload(bytes_of(std::vector<float>(64, -1.0f)), buffer);
    device().queue().submit(commands);
    device().queue().submit(commands);
    transfer.download(buffer, 0, writable_bytes_of(host));
    EXPECT_EQ(host, std::vector<float>(64, 1.0f));
  }
}

TEST_F(VulkanTest, StagedTransfersOfAnySizeComeBackUnchanged) {
  for (const bool staged : {false, true}) {
    Transfer transfer(device(), 1000, staged);
    for (const size_t bytes : {1u, 3u, 999u, 1000u, 1001u, 2000u, 7777u}) {
      Buffer buffer(device(), bytes + 5, MemoryKind::device, "a test");
      std::vector<uint8_t> sent(bytes);
      std::iota(sent.begin(), sent.end(), uint8_t{1});
      transfer.upload(bytes_of(sent), buffer, 5);
      std::vector<uint8_t> received(bytes);
      transfer.download(buffer, 5, writable_bytes_of(received));
      EXPECT_EQ(received, sent) << bytes << " bytes, staged " << staged;
    }
  }
}

TEST_F(VulkanTest, TimestampsGrow) {
  if (device().info().timestamp_period_ns == 0) GTEST_SKIP() << "no timestamps";
  Buffer buffer(device(), 1 << 20, MemoryKind::device, "a test");
  Profiler profiler(device(), 2);
  CommandBuffer commands(device());
  for (const char* name : {"first", "second"}) {
    const uint32_t scope = profiler.begin(commands, name);
    commands.fill(buffer, 0, buffer.size(), 7);
    commands.barrier();
    profiler.end(commands, scope);
  }
  commands.finish();
  device().queue().submit(commands);
  const auto scopes = profiler.read();
  ASSERT_EQ(scopes.size(), 2u);
  EXPECT_EQ(scopes[1].name, "second");
  EXPECT_GE(scopes[0].ms, 0);
  EXPECT_GE(scopes[1].begin_ms, scopes[0].ms);
}

TEST_F(VulkanTest, MemoryIsAccountedToTheByte) {
  const MemoryUse before = device().memory_use();
  {
    Buffer buffer(device(), 1001, MemoryKind::device, "a test");
    Buffer moved(std::move(buffer));
    EXPECT_EQ(device().memory_use().requested, before.requested + 1001);
    EXPECT_GE(device().memory_use().allocated, before.allocated + 1001);
  }
  EXPECT_EQ(device().memory_use().requested, before.requested);
  EXPECT_EQ(device().memory_use().allocated, before.allocated);
}

TEST_F(VulkanTest, TooLargeABufferSaysWhatAndHowMuch) {
  std::string message;
  const auto ask = [&] { Buffer(device(), uint64_t{1} << 50, MemoryKind::device, "the arena"); };
  EXPECT_EQ(kind_of(ask, &message), ErrorKind::out_of_memory);
  EXPECT_NE(message.find("the arena"), std::string::npos) << message;
  EXPECT_NE(message.find("1024.00 TiB"), std::string::npos) << message;
}

TEST_F(VulkanTest, AnUnknownSelectorListsTheDevices) {
  std::string message;
  EXPECT_EQ(kind_of([] { Device::open("no such card"); }, &message), ErrorKind::device);
  EXPECT_NE(message.find(device().info().name), std::string::npos) << message;
}

TEST_F(VulkanTest, PreparedPipelinesAreThoseThatAreGot) {
  PipelineCache cache(device());
  const std::vector<PipelineKey> keys(3, PipelineKey{"fill", {}});
  cache.prepare(keys);
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_EQ(cache.get(keys[0]).handle, cache.get(keys[1]).handle);
  EXPECT_THROW(cache.get({"no_such_shader", {}}), InternalError);
}

TEST_F(VulkanTest, TexelBuffersLieInsideOfOneBufferAndAreMadeOnce) {
  TexelSets sets(device());
  uint64_t gone = 0;
  {
    const Buffer first(device(), 1024, MemoryKind::device, "a test"), second(device(), 100, MemoryKind::device, "a test");
    const TexelRange a{first.address() + 256, 768}, b{second.address(), 96, TexelFormat::u32x2};
    const TexelRange both[] = {a, b}, swapped[] = {b, a};
    EXPECT_EQ(sets.set_of(both), sets.set_of(both));
    EXPECT_NE(sets.set_of(both), sets.set_of(swapped));
    for (const TexelRange& wrong : {TexelRange{a.address, 784}, TexelRange{a.address + 8, 16}, TexelRange{a.address, 0}, TexelRange{0, 16}})
      EXPECT_THROW(sets.set_of(std::span(&wrong, 1)), InternalError) << wrong.bytes;
    EXPECT_THROW(sets.set_of(std::vector<TexelRange>(kTexelBindings + 1, a)), InternalError);
    gone = first.address();
  }
  const TexelRange freed{gone, 16};
  EXPECT_THROW(sets.set_of(std::span(&freed, 1)), InternalError);
}

TEST_F(VulkanTest, MisuseIsCaught) {
  CommandBuffer commands(device());
  const Pipeline& fill = pipelines().get({"fill", {}});
  EXPECT_THROW(commands.dispatch(fill, {}, {65536, 1, 1}), InternalError);
  EXPECT_THROW(commands.dispatch(fill, {}, {0, 1, 1}), InternalError);
  EXPECT_THROW(device().queue().submit(commands), InternalError);
  commands.finish();
  EXPECT_THROW(commands.finish(), InternalError);
}

}  // namespace
}  // namespace lemnos::vk
