#include "graph/value.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lemnos {
namespace {

TEST(ElementCount, IsTheProductOrAnErrorOfTheUsersSizes) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
  EXPECT_EQ(element_count({int64_t{1} << 31, int64_t{1} << 31}), int64_t{1} << 62);
  try {
    element_count({int64_t{1} << 31, int64_t{1} << 31, 2});
    ADD_FAILURE() << "counted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace lemnos
