#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "ops/attention/tiles.h"
#include "support/op_harness.h"

namespace lemnos {
namespace {

struct Heads {
  int64_t q = 2, kv = 1, depth = 16, depth_v = 16;
};

HostTensor tile_table(const std::vector<int64_t>& segments, int64_t entries = 0) {
  const int64_t rows = std::accumulate(segments.begin(), segments.end(), int64_t{0});
  const std::vector<int32_t> table = attention_tiles(segments, rows, entries);
  return {{static_cast<int64_t>(table.size()) / 4, 4}, {table.begin(), table.end()}};
}

test::OpCase make_case(const std::vector<int64_t>& segments, const Heads& heads,
                       int64_t window = 0) {
  const int64_t n = std::accumulate(segments.begin(), segments.end(), int64_t{0});
  const HostTensor tiles = tile_table(segments);
  test::OpCase result;
  result.build = [=](Builder& b) -> std::vector<ValueId> {
    const ValueId q = b.input("q", {n, heads.q, heads.depth}, DType::f32);
    const ValueId k = b.input("k", {n, heads.kv, heads.depth}, DType::f32);
    const ValueId v = b.input("v", {n, heads.kv, heads.depth_v}, DType::f32);
    const ValueId table = b.input("attn_tiles", tiles.shape, DType::i32);
    const double scale = 1 / std::sqrt(static_cast<double>(heads.depth));
    const ValueId o = ops::attention(b, q, k, v, table, scale, window);
    return {o, b.graph().nodes.back().outputs[1]};
  };
  result.values = {{"q", test::random_tensor({n, heads.q, heads.depth}, 1, -2, 2)},
                   {"k", test::random_tensor({n, heads.kv, heads.depth}, 2, -2, 2)},
                   {"v", test::random_tensor({n, heads.kv, heads.depth_v}, 3)},
                   {"attn_tiles", tiles}};
  result.wanted = {"q", "k", "v"};
  return result;
}

using Attention = test::DeviceTest;

TEST(AttentionTiles, StartAtTheirSegmentsFirstRow) {
  EXPECT_EQ(attention_tiles(std::vector<int64_t>{65, 3}, 68),
            (std::vector<int32_t>{0, 64, 0, 65, 64, 1, 0, 65, 65, 3, 65, 68}));
  EXPECT_EQ(attention_tiles(std::vector<int64_t>{2}, 2, 2),
            (std::vector<int32_t>{0, 2, 0, 2, 0, 0, 0, 0}));
  EXPECT_EQ(attention_tile_count(128, 1), 2);
  EXPECT_EQ(attention_tile_count(129, 3), 4);  // 1, 1 and 127: also 1 + 1 + 2
  EXPECT_EQ(attention_tile_count(2, 9), 2);
}

TEST(AttentionTiles, RefuseASegmentThatIsTooLong) {
  try {
    attention_tiles(std::vector<int64_t>{kMaxAttentionSegment + 1}, kMaxAttentionSegment + 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

TEST_F(Attention, GradientsAreThoseOfFiniteDifferences) {
  for (const int64_t window : {0, 3}) {
    test::OpCase small = make_case({5, 1, 4}, {2, 1, 4, 4}, window);
    small.finite_differences = true;
    check_op(small);
  }
}

TEST_F(Attention, SegmentsOfEveryLength) {
  check_op(make_case({1}, {1, 1, 16, 16}));
  check_op(make_case({65}, {2, 2, 16, 16}));
  check_op(make_case({37, 1, 64, 66, 5}, {4, 2, 16, 16}));
}

TEST_F(Attention, DepthsOfEveryKind) {
  check_op(make_case({70}, {3, 1, 64, 64}));
  check_op(make_case({40}, {2, 1, 80, 80}));
  check_op(make_case({40}, {2, 1, 24, 16}));  // other depth of v
  check_op(make_case({35, 4}, {2, 1, 18, 7}));  // no 16-byte loads
}

TEST_F(Attention, DeepHeads) {
  check_op(make_case({67}, {1, 1, 128, 128}));
  check_op(make_case({34}, {1, 1, 256, 256}));
}

TEST_F(Attention, WindowsSmallerAndLargerThanATile) {
  for (const int64_t window : {7, 100}) check_op(make_case({150, 20}, {2, 1, 16, 16}, window));
}

TEST_F(Attention, AWindowOfOneLeavesNoScoreGradient) {
  // Each row sees itself: grad_p and delta are the same sum of 16 products, which cancel exactly only
  // in exact arithmetic.
  test::OpCase alone = make_case({150, 20}, {2, 1, 16, 16}, 1);
  alone.magnitude = 1;
  check_op(alone);
}

TEST_F(Attention, GroupsOfHeads) {
  check_op(make_case({33}, {6, 1, 16, 16}));
  check_op(make_case({33}, {6, 3, 16, 16}));
}

}  // namespace
}  // namespace lemnos
