#pragma once

#include <gtest/gtest.h>

#include "vk/device.h"
#include "vk/pipeline.h"

namespace lemnos::test {

/// The one device of a test executable: $LEMNOS_TEST_DEVICE (a selector), else the CPU device, else
/// the default one; validation is on where installed. Throws, so the test fails, when there is
/// none.
vk::Device& test_device();
/// Pipelines of `test_device()`, compiled once per executable.
vk::PipelineCache& test_pipelines();
/// Before main returns: afterwards the validation layer may be gone.
void release_test_device();

/// Base of tests that need a device: they fail without one, or skip when LEMNOS_ALLOW_NO_DEVICE=1,
/// and fail when the validation layer has found anything.
class DeviceTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  vk::Device& device() { return test_device(); }
  vk::PipelineCache& pipelines() { return test_pipelines(); }
};

}  // namespace lemnos::test
