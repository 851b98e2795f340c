#include "support/device.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/error.h"

namespace lemnos::test {
namespace {

std::string selector() {
  if (const char* chosen = std::getenv("LEMNOS_TEST_DEVICE")) return chosen;
  const auto infos = vk::list_devices();
  const bool has_cpu = std::any_of(infos.begin(), infos.end(), [](const vk::DeviceInfo& info) {
    return info.type == vk::DeviceType::cpu && info.missing.empty();
  });
  return has_cpu ? "cpu" : "";
}

struct Shared {
  std::unique_ptr<vk::Device> device = vk::Device::open(selector(), {.validation = true});
  vk::PipelineCache pipelines{*device};
};

std::unique_ptr<Shared> instance;

Shared& shared() {
  if (!instance) instance = std::make_unique<Shared>();
  return *instance;
}

bool no_device_is_allowed() {
  const char* allowed = std::getenv("LEMNOS_ALLOW_NO_DEVICE");
  return allowed != nullptr && std::string_view(allowed) == "1";
}

}  // namespace

vk::Device& test_device() { return *shared().device; }
vk::PipelineCache& test_pipelines() { return shared().pipelines; }
void release_test_device() { instance.reset(); }

void DeviceTest::SetUp() {
  try {
    test_device();
  } catch (const Error& error) {
    if (no_device_is_allowed()) GTEST_SKIP() << error.what();
    FAIL() << error.what() << "\n(LEMNOS_ALLOW_NO_DEVICE=1 skips the tests that need a device)";
  }
}

void DeviceTest::TearDown() {
  if (IsSkipped() || HasFatalFailure()) return;
  const auto messages = test_device().validation_messages();
  EXPECT_EQ(test_device().validation_error_count(), 0u) << (messages.empty() ? "" : messages[0]);
}

}  // namespace lemnos::test
