#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace lemnos {
namespace {

TEST(Parallel, EachPieceIsDoneOnce) {
  for (const size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> times(count);
    EXPECT_EQ(run_parallel(count, [&](size_t i) { ++times[i]; }), nullptr);
    for (const auto& t : times) EXPECT_EQ(t, 1);
  }
}

TEST(Parallel, TheFirstErrorComesBackAndTheRestIsDone) {
  std::atomic<int> done{0};
  const std::exception_ptr error = run_parallel(50, [&](size_t i) {
    if (i == 7 || i == 30) throw std::runtime_error(i == 7 ? "seven" : "thirty");
    ++done;
  });
  EXPECT_EQ(done, 48);
  ASSERT_NE(error, nullptr);
  try {
    std::rethrow_exception(error);
  } catch (const std::runtime_error& found) {
    EXPECT_STREQ(found.what(), "seven");
  }
}

}  // namespace
}  // namespace lemnos
