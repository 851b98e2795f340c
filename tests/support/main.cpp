#include <gtest/gtest.h>

#include "support/device.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const int result = RUN_ALL_TESTS();
  lemnos::test::release_test_device();
  return result;
}
