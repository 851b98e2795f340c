#include "ops/linear/gemm.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "base/format.h"
#include "ops/linear/gemm_tiles.h"
#include "runtime/profile.h"
#include "support/device.h"
#include "support/kernel_runner.h"

namespace lemnos {
namespace {

constexpr double kHalfUlp = 1.0 / (1 << 24);

std::vector<float> random_values(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f;
  return values;
}

/// A product on the host, its inputs and what surrounds the result in memory.
struct Problem {
  GemmLayout layout = GemmLayout::nt;
  int64_t m = 1, n = 1, k = 1;
  int64_t padding = 0;  // elements between the rows of A, B and C
  int64_t offset = 0;   // elements before A, B and C
  DType b_dtype = DType::f32;
  float scale = 1.0f;
  bool bias = false;
  bool addend = false;  // C itself
  bool split_precision = false;
  int64_t rank = 0;  // of a product that is added, and scaled instead
  std::vector<int32_t> offsets;

  bool tn() const { return layout == GemmLayout::tn; }
  bool nt() const { return layout == GemmLayout::nt; }
  int64_t groups() const { return std::max<int64_t>(1, static_cast<int64_t>(offsets.size()) - 1); }
  int64_t stride_a() const { return (tn() ? m : k) + padding; }
  int64_t stride_b() const { return (nt() ? k : n) + padding; }
  int64_t stride_c() const { return n + padding; }
  int64_t size_a() const { return (tn() ? k : m) * stride_a(); }
  int64_t size_b() const { return (nt() ? n : k) * stride_b(); }
  int64_t size_c() const { return m * stride_c(); }
  int64_t copies_of_b() const { return tn() ? 1 : groups(); }
  int64_t copies_of_c() const { return tn() ? groups() : 1; }
};

struct Data {
  std::vector<float> a, b, c, bias, low_a, low_b;
  std::vector<uint16_t> b_half;
};

float widen(DType dtype, uint16_t bits) {
  if (dtype == DType::bf16) return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

Data make_data(const Problem& p) {
  Data data;
  data.a = random_values(static_cast<size_t>(p.offset + p.size_a()), 1);
  data.b = random_values(static_cast<size_t>(p.offset + p.size_b() * p.copies_of_b()), 2);
  data.c = random_values(static_cast<size_t>(p.offset + p.size_c() * p.copies_of_c()), 3);
  data.bias = random_values(static_cast<size_t>(p.n), 4);
  data.low_a = random_values(static_cast<size_t>(p.m * p.rank), 6);
  data.low_b = random_values(static_cast<size_t>(p.n * p.rank), 7);
  if (p.b_dtype == DType::f32) return data;
  std::mt19937 random(5);
  for (float& value : data.b) {  // sign, small exponents and denormals, any mantissa
    const uint16_t bits = p.b_dtype == DType::bf16
                              ? static_cast<uint16_t>((random() & 0x80ff) | 0x3f00)
                              : static_cast<uint16_t>(random() & 0xbbff);
    data.b_half.push_back(bits);
    value = widen(p.b_dtype, bits);
  }
  return data;
}

/// The largest magnitude in each row of op(A) or column of op(B), `count` of them, `outer` elements apart.
std::vector<float> largest_of(const std::vector<float>& x, int64_t offset, int64_t count, int64_t outer, int64_t k, int64_t inner) {
  std::vector<float> largest(static_cast<size_t>(count), 0.0f);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t l = 0; l < k; ++l)
      largest[static_cast<size_t>(i)] =
          std::max(largest[static_cast<size_t>(i)], std::abs(x[static_cast<size_t>(offset + i * outer + l * inner)]));
  return largest;
}

void add_scales(const Problem& p, const Data& data, GemmCall& call, test::KernelRunner& runner) {
  const int64_t a = p.stride_a(), b = p.stride_b();
  call.split_precision = true;
  call.largest_a = BufferRef{runner.add(largest_of(data.a, p.offset, p.m, p.tn() ? 1 : a, p.k, p.tn() ? a : 1))};
  call.largest_b = BufferRef{runner.add(largest_of(data.b, p.offset, p.n, p.nt() ? b : 1, p.k, p.nt() ? 1 : b))};
}

template <typename Tile = GemmTile>
std::vector<float> run_on_device(const Problem& p, const Data& data, const DeviceProfile& profile,
                                 const Tile* tile = nullptr) {
  test::KernelRunner runner;
  GemmCall call;
  call.layout = p.layout;
  call.m = p.m, call.n = p.n, call.k = p.k;
  call.b_dtype = p.b_dtype;
  call.a = {runner.add(data.a), p.offset * 4};
  call.b = {p.b_dtype == DType::f32 ? runner.add(data.b) : runner.add(data.b_half),
            p.offset * byte_size(p.b_dtype)};
  call.c = {runner.add(data.c), p.offset * 4};
  call.row_stride_a = p.stride_a(), call.row_stride_b = p.stride_b(),
  call.row_stride_c = p.stride_c();
  call.scale = p.scale;
  if (p.bias) call.bias = BufferRef{runner.add(data.bias)};
  if (p.addend) call.addend = call.c;
  if (!p.offsets.empty()) {
    call.offsets = BufferRef{runner.add(p.offsets)};
    call.groups = p.groups();
    call.group_stride = p.tn() ? p.size_c() : p.size_b();
  }
  if (p.split_precision) add_scales(p, data, call, runner);
  if (p.rank > 0) {
    call.low_a = BufferRef{runner.add(data.low_a)};
    call.low_b = BufferRef{runner.add(data.low_b)};
    call.rank = p.rank;
  }
  if (const int64_t bytes = gemm_workspace_bytes(call); bytes > 0)
    call.workspace = BufferRef{runner.add(std::vector<std::byte>(static_cast<size_t>(bytes)))};
  runner.run(tile != nullptr ? gemm_with_tile(call, *tile, gemm_splits(call)) : gemm(call, profile));
  return runner.read<float>(call.c.value, data.c.size());
}

struct Range {
  int64_t begin, end;
};

/// Rows of A and C (nn, nt) or of the reduction (tn) that belong to group g.
Range group_range(const Problem& p, int64_t g) {
  if (p.offsets.empty()) return {0, p.tn() ? p.k : p.m};
  return {p.offsets[static_cast<size_t>(g)], p.offsets[static_cast<size_t>(g) + 1]};
}

/// Checks one element against double, within the bound of the order of sums: 64 roundings in a
/// chunk, one for each chunk, some for the epilogue.
void check_element(const Problem& p, const Data& data, const std::vector<float>& got, int64_t g,
                   int64_t row, int64_t column) {
  const auto at = [](int64_t i) { return static_cast<size_t>(i); };
  const Range sum_range = p.tn() ? group_range(p, g) : Range{0, p.k};
  double sum = 0, magnitude = 0;
  for (int64_t k = sum_range.begin; k < sum_range.end; ++k) {
    const int64_t ia = p.tn() ? k * p.stride_a() + row : row * p.stride_a() + k;
    const int64_t ib = p.nt() ? column * p.stride_b() + k : k * p.stride_b() + column;
    const double product = static_cast<double>(data.a[at(p.offset + ia)]) *
                           data.b[at(p.offset + ib + (p.tn() ? 0 : g * p.size_b()))];
    sum += product;
    magnitude += std::abs(product);
  }
  const int64_t ic = p.offset + (p.tn() ? g * p.size_c() : 0) + row * p.stride_c() + column;
  double rest = (p.bias ? data.bias[at(column)] : 0.0) + (p.addend ? data.c[at(ic)] : 0.0);
  if (p.rank > 0) {
    rest += std::exchange(sum, 0.0);
    magnitude /= std::abs(p.scale);
  }
  for (int64_t k = 0; k < p.rank; ++k) {
    const int64_t ib = p.nt() ? column * p.rank + k : k * p.n + column;
    const double product = static_cast<double>(data.low_a[at(row * p.rank + k)]) * data.low_b[at(ib)];
    sum += product;
    magnitude += std::abs(product);
  }
  const double expected = p.scale * sum + rest;
  const double roundings = static_cast<double>(std::min<int64_t>(p.k, 64) + (p.k + 63) / 64 + 8);
  const double bound =
      kHalfUlp * (roundings * std::abs(p.scale) * magnitude + 4 * std::abs(rest)) + 1e-37;
  ASSERT_NEAR(got[at(ic)], expected, bound)
      << "group " << g << " row " << row << " column " << column;
}

void check_problem(const Problem& p, const DeviceProfile& profile, const GemmTile* tile = nullptr) {
  SCOPED_TRACE(format("layout {} {}x{}x{} padding {} offset {} {} groups {}",
                      static_cast<int>(p.layout), p.m, p.n, p.k, p.padding, p.offset,
                      name_of(p.b_dtype), p.groups()));
  const Data data = make_data(p);
  const std::vector<float> got = run_on_device(p, data, profile, tile);
  std::vector<bool> written(got.size());
  for (int64_t g = 0; g < p.groups(); ++g) {
    const Range rows = p.tn() ? Range{0, p.m} : group_range(p, g);
    for (int64_t row = rows.begin; row < rows.end; ++row)
      for (int64_t column = 0; column < p.n; ++column) {
        check_element(p, data, got, g, row, column);
        if (testing::Test::HasFatalFailure()) return;
        written[static_cast<size_t>(p.offset + (p.tn() ? g * p.size_c() : 0) + row * p.stride_c() +
                                    column)] = true;
      }
  }
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(written[i] || got[i] == data.c[i]) << "written outside of C at " << i;
}

class GemmTest : public test::DeviceTest, public testing::WithParamInterface<bool> {
 protected:
  DeviceProfile profile() {
    DeviceProfile profile = profile_of(device());
    if (GetParam() && !profile.cpu_path) return profile;
    profile.cpu_path = GetParam();
    return profile;
  }
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && GetParam() && !profile_of(device()).cpu_path)
      GTEST_SKIP() << "the CPU kernels are for lavapipe";
  }
};

constexpr GemmLayout kLayouts[] = {GemmLayout::nn, GemmLayout::nt, GemmLayout::tn};

TEST_P(GemmTest, OddShapesAreRightInEveryLayout) {
  for (const GemmLayout layout : kLayouts) {
    check_problem({.layout = layout}, profile());
    check_problem({.layout = layout, .m = 5, .n = 7, .k = 3}, profile());
    check_problem({.layout = layout, .m = 25, .n = 65, .k = 67}, profile());
    check_problem({.layout = layout, .m = 70, .n = 33, .k = 129, .scale = -0.5f, .bias = true},
                  profile());
  }
}

TEST_P(GemmTest, AlignedShapesTheEpilogueAndStridesAreRight) {
  for (const GemmLayout layout : kLayouts) {
    check_problem({.layout = layout,
                   .m = 52,
                   .n = 100,
                   .k = 192,
                   .scale = 2.0f,
                   .bias = true,
                   .addend = true},
                  profile());
    check_problem(
        {.layout = layout, .m = 28, .n = 40, .k = 68, .padding = 4, .offset = 8, .addend = true},
        profile());
    check_problem({.layout = layout, .m = 28, .n = 40, .k = 68, .padding = 3, .offset = 1},
                  profile());
  }
}

TEST_P(GemmTest, LongSumsAreSplit) {
  for (const GemmLayout layout : kLayouts) {
    const Problem problem{
        .layout = layout, .m = 17, .n = 16, .k = 1100, .scale = 0.5f, .bias = true, .addend = true};
    EXPECT_GT(gemm_splits({.layout = layout, .m = 17, .n = 16, .k = 1100}), 1);
    check_problem(problem, profile());
  }
}

TEST_P(GemmTest, SplitsAreAddedInOrderHoweverTheyAreRun) {
  const int64_t side = 40, k = 400;
  const Problem whole{.layout = GemmLayout::tn, .m = side, .n = side, .k = k};
  const int64_t splits = gemm_splits({.layout = GemmLayout::tn, .m = side, .n = side, .k = k});
  ASSERT_EQ(splits, 3);
  Data data = make_data(whole);
  const std::vector<float> all = run_on_device(whole, data, profile());
  std::vector<float> sum;
  for (const auto& [first, end] : {std::pair{0, 192}, {192, 384}, {384, 400}}) {
    Problem part = whole;
    part.k = end - first;
    part.offset = first * side;
    data.c.resize(static_cast<size_t>(part.offset + side * side));
    const std::vector<float> got = run_on_device(part, data, profile());
    for (size_t at = 0; at < all.size(); ++at) {
      const float x = got[static_cast<size_t>(part.offset) + at];
      if (first == 0) sum.push_back(x);
      else sum[at] += x;
    }
  }
  for (size_t at = 0; at < all.size(); ++at)
    ASSERT_EQ(std::bit_cast<uint32_t>(all[at]), std::bit_cast<uint32_t>(sum[at])) << at;
}

TEST_P(GemmTest, HalfPrecisionWeightsWidenExactly) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt}) {
      check_problem({.layout = layout, .m = 20, .n = 72, .k = 64, .b_dtype = dtype}, profile());
      check_problem({.layout = layout, .m = 9, .n = 35, .k = 37, .b_dtype = dtype}, profile());
    }
}

TEST_P(GemmTest, GroupsUseTheirOwnWeightsAndAnEmptyOneGivesZeros) {
  const std::vector<int32_t> offsets = {0, 1, 1, 30, 61};
  for (const GemmLayout layout : kLayouts) {
    const bool tn = layout == GemmLayout::tn;
    check_problem(
        {.layout = layout, .m = tn ? 12 : 61, .n = 36, .k = tn ? 61 : 68, .offsets = offsets},
        profile());
    check_problem({.layout = layout,
                   .m = tn ? 11 : 61,
                   .n = 34,
                   .k = tn ? 61 : 70,
                   .addend = true,
                   .offsets = offsets},
                  profile());
  }
}

TEST_P(GemmTest, ARowsBitsDoNotDependOnTheOtherRows) {
  for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt})
    for (const int64_t n : {40, 300}) {
      Problem many{.layout = layout, .m = 100, .n = n, .k = 516, .bias = true};
      const Data data = make_data(many);
      const std::vector<float> all = run_on_device(many, data, profile());
      EXPECT_EQ(run_on_device(many, data, profile()), all);
      for (const int64_t m : {1, 7, 30}) {
        Problem few = many;
        few.m = m;
        const std::vector<float> first = run_on_device(few, data, profile());
        for (size_t i = 0; i < static_cast<size_t>(m * n); ++i)
          ASSERT_EQ(std::bit_cast<uint32_t>(first[i]), std::bit_cast<uint32_t>(all[i]))
              << m << " at " << i;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Paths, GemmTest, testing::Values(true, false),
                         [](const auto& path) { return path.param ? "Cpu" : "Gpu"; });

using GemmTileTest = test::DeviceTest;

// Little is unrolled where a tile allows: lavapipe compiles longer than it runs.
TEST_F(GemmTileTest, EveryKindOfTileGivesTheSameRightBits) {
  const GemmTile large{128, 128, 16, 8, 8, 4, 4, true}, quads{64, 64, 32, 8, 8, 4, 4, true, true},
      two_buffers{32, 32, 8, 4, 4, 8, 8, true, false, 2}, few_columns{64, 16, 32, 4, 4, 8, 4},
      few_rows{16, 64, 32, 4, 4, 4, 4, true};
  const std::pair<GemmLayout, std::vector<GemmTile>> cases[] = {
      {GemmLayout::nt, {large, quads, two_buffers}},
      {GemmLayout::nn, {quads, few_rows}},
      {GemmLayout::tn, {two_buffers, few_columns}}};
  for (const auto& [layout, tiles] : cases) {
    const Problem problem{.layout = layout, .m = 132, .n = 68, .k = 132};
    const Data data = make_data(problem);
    check_problem(problem, profile_of(device()), &tiles.front());
    const std::vector<float> expected =
        run_on_device(problem, data, profile_of(device()), &tiles.front());
    for (const GemmTile& tile : tiles)
      EXPECT_EQ(run_on_device(problem, data, profile_of(device()), &tile), expected)
          << tile.bm << "x" << tile.bn << " buffers " << tile.buffers;
  }
}

/// The split-precision kernel, on GPUs that have it. Its bound is that of the plain one.
class MatrixUnits : public test::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure() && !profile_of(device()).split_gemm)
      GTEST_SKIP() << "this device or this build has no kernels for matrix units";
  }
};

TEST_F(MatrixUnits, OddShapesTheEpilogueAndStridesAreRight) {
  for (const GemmLayout layout : kLayouts) {
    const Problem all{.layout = layout, .split_precision = true};
    const auto check = [&](int64_t m, int64_t n, int64_t k, int64_t padding, int64_t offset, bool rest) {
      Problem p = all;
      p.m = m, p.n = n, p.k = k, p.padding = padding, p.offset = offset, p.bias = p.addend = rest;
      if (rest) p.scale = -0.5f;
      check_problem(p, profile_of(device()));
    };
    check(1, 1, 1, 0, 0, false);
    check(5, 7, 3, 0, 0, true);
    check(70, 33, 129, 0, 0, true);
    check(132, 260, 192, 4, 8, true);
    check(28, 40, 68, 3, 1, false);
    check(17, 48, 1100, 0, 0, true);
  }
}

TEST_F(MatrixUnits, HalfPrecisionWeightsAreExact) {
  for (const DType dtype : {DType::f16, DType::bf16})
    for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt})
      for (const auto& [m, n, k] : {std::array{20, 72, 64}, {9, 35, 37}, {140, 136, 200}})
        check_problem({.layout = layout, .m = m, .n = n, .k = k, .b_dtype = dtype, .split_precision = true},
                      profile_of(device()));
}

TEST_F(MatrixUnits, AProductOfLowRankIsAddedAndScaled) {
  for (const GemmLayout layout : {GemmLayout::nn, GemmLayout::nt})
    for (const auto& [m, n, k, rank] : {std::array{5, 8, 36, 4}, {70, 132, 129, 16}, {260, 260, 192, 48}, {9, 64, 4992, 8},
                                        {33, 100, 4160, 64}})
      for (const bool rest : {false, true}) {
        Problem p{.layout = layout, .m = m, .n = n, .k = k, .scale = -0.5f, .bias = rest, .addend = rest, .split_precision = true};
        p.rank = rank;
        check_problem(p, profile_of(device()));
      }
}

TEST_F(MatrixUnits, EveryTileGivesTheSameBitsAndARowItsOwn) {
  for (const GemmLayout layout : kLayouts) {
    Problem many{.layout = layout, .m = 260, .n = 140, .k = 516, .bias = true, .split_precision = true};
    if (layout != GemmLayout::tn) many.rank = 20;
    const Data data = make_data(many);
    const std::vector<float> all = run_on_device(many, data, profile_of(device()));
    for (const GemmSplitTile& tile : gemm_split_tile_candidates())
      EXPECT_EQ(run_on_device(many, data, profile_of(device()), &tile), all) << tile.bm << "x" << tile.bn;
    if (layout == GemmLayout::tn) continue;
    Problem few = many;
    few.m = 7;
    const std::vector<float> first = run_on_device(few, data, profile_of(device()));
    EXPECT_TRUE(std::equal(first.begin(), first.begin() + few.m * few.n, all.begin()));
  }
}

TEST(GemmPlanTest, TheHeadOfAModelFillsAGpu) {
  const GemmCall head{.layout = GemmLayout::nn, .m = 384, .n = 896, .k = 151936};
  const int64_t splits = gemm_splits(head);
  EXPECT_GE(splits * 3 * 7, 4 * 132);
  EXPECT_EQ(gemm_workspace_bytes(head), splits * 384 * 896 * 4);
}

TEST(GemmPlanTest, RowsJustAboveALargeTileTakeSmallerOnes) {
  const DeviceProfile gpu{.max_shared_bytes = 49152};
  const auto tile = [&](int64_t m, int64_t n, int64_t k) {
    return choose_gemm_tile({.layout = GemmLayout::nt, .m = m, .n = n, .k = k}, gpu);
  };
  EXPECT_EQ(tile(4096, 4096, 4096).bm, 128u);
  EXPECT_LE(tile(192, 151936, 896).bm, 64u);
  EXPECT_LE(tile(512, 896, 896).bm, 64u);
  EXPECT_EQ(tile(4096, 16, 896).bn, 16u);
  EXPECT_EQ(tile(16, 4096, 896).bm, 16u);
}

TEST(GemmPlanTest, EveryCandidateIsATileOfTheKernel) {
  const DeviceProfile gpu{.max_shared_bytes = 49152};
  for (const GemmLayout layout : kLayouts)
    for (const int64_t n : {16, 128, 896, 4096})
      for (const int64_t m : {16, 512, 4096}) {
        const GemmCall call{layout,
                            m,
                            n,
                            64,
                            {},
                            {},
                            {},
                            layout == GemmLayout::tn ? m : 64,
                            layout == GemmLayout::nt ? 64 : n,
                            n};
        for (const GemmTile& tile : gemm_tile_candidates(call, gpu)) {
          EXPECT_LE(tile.shared_bytes(), gpu.max_shared_bytes);
          EXPECT_FALSE(gemm_with_tile(call, tile, 1).empty());
        }
      }
}

using ColumnSumTest = test::DeviceTest;

TEST_F(ColumnSumTest, MatchesDoubleAndAddsToWhatIsThere) {
  for (const int64_t m : {1, 33, 256, 257, 1000}) {
    const int64_t n = 70;
    const std::vector<float> x = random_values(static_cast<size_t>(m * n), 6),
                             before = random_values(70, 7);
    test::KernelRunner runner;
    const ValueId x_id = runner.add(x), y_id = runner.add(before);
    const auto bytes = static_cast<size_t>(std::max<int64_t>(4, column_sum_workspace_bytes(m, n)));
    const BufferRef workspace{runner.add(std::vector<std::byte>(bytes))};
    runner.run(column_sum(m, n, {x_id}, {y_id}, BufferRef{y_id}, workspace, profile_of(device())));
    const std::vector<float> y = runner.read<float>(y_id, 70);
    for (size_t j = 0; j < 70; ++j) {
      double sum = before[j], magnitude = std::abs(before[j]);
      for (size_t i = j; i < x.size(); i += 70) sum += x[i], magnitude += std::abs(x[i]);
      ASSERT_NEAR(y[j], sum, 50 * kHalfUlp * magnitude) << m << " rows, column " << j;
    }
  }
}

}  // namespace
}  // namespace lemnos
