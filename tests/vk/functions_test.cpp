#include "vk/functions.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lemnos::vk {
namespace {

std::string error_of(const char* library) {
  try {
    load_vulkan_from(library);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    return error.what();
  }
  ADD_FAILURE() << "loaded " << library;
  return "";
}

TEST(VulkanFunctions, AMissingOrForeignLoaderIsADeviceError) {
  EXPECT_NE(error_of("libnowhere.so.1").find("Vulkan cannot be loaded: libnowhere.so.1"), std::string::npos);
  EXPECT_NE(error_of("libm.so.6").find("libm.so.6 is too old: it has no vk"), std::string::npos);
}

}  // namespace
}  // namespace lemnos::vk
