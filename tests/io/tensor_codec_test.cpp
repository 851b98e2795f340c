#include "io/tensor_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "io/test_files.h"

namespace lemnos {
namespace {

using test::expect_error;

template <typename T>
TensorView view_of(const std::vector<T>& values, FileDType dtype) {
  return {"w", dtype, {static_cast<int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

TEST(TensorCodec, DecodesFloats) {
  const std::vector<double> f64 = {1.0, -0.1, 1e300};
  EXPECT_EQ(decode_f64(view_of(f64, FileDType::F64)), f64);
  EXPECT_EQ(decode_f32(view_of(f64, FileDType::F64))[1], -0.1f);
  const std::vector<float> f32 = {1.5f, -3e38f};
  EXPECT_EQ(decode_f32(view_of(f32, FileDType::F32)), f32);
  const std::vector<uint16_t> half = {0x3c00, 0xc000, 0x0001};
  EXPECT_EQ(decode_f32(view_of(half, FileDType::F16)), (std::vector<float>{1, -2, 0x1p-24f}));
  const std::vector<uint16_t> brain = {0x3f80, 0xc000};
  EXPECT_EQ(decode_f64(view_of(brain, FileDType::BF16)), (std::vector<double>{1, -2}));
}

TEST(TensorCodec, DecodesIntegers) {
  EXPECT_EQ(decode_i64(view_of(std::vector<int32_t>{-5, 7}, FileDType::I32)),
            (std::vector<int64_t>{-5, 7}));
  EXPECT_EQ(decode_i64(view_of(std::vector<uint8_t>{0, 255}, FileDType::U8)),
            (std::vector<int64_t>{0, 255}));
  EXPECT_EQ(decode_i64(view_of(std::vector<int8_t>{-1}, FileDType::I8)),
            (std::vector<int64_t>{-1}));
}

TEST(TensorCodec, ReadsFromAnyAddress) {
  const std::vector<float> values = {1.25f, -8.0f};
  std::vector<std::byte> shifted(1 + 2 * sizeof(float));
  std::memcpy(shifted.data() + 1, values.data(), 2 * sizeof(float));
  const TensorView view = {
      "w", FileDType::F32, {2}, std::span<const std::byte>(shifted).subspan(1)};
  EXPECT_EQ(decode_f32(view), values);
}

TEST(TensorCodec, RefusesOtherDtypesByName) {
  const std::vector<uint8_t> bytes = {1, 2};
  for (const FileDType dtype : {FileDType::F8_E4M3, FileDType::F8_E5M2, FileDType::U8})
    expect_error(ErrorKind::unsupported, {"\"w\"", dtype_name(dtype)},
                 [&] { decode_f32(view_of(bytes, dtype)); });
  const std::vector<uint64_t> wide = {1};
  expect_error(ErrorKind::unsupported, {"U64"}, [&] { decode_i64(view_of(wide, FileDType::U64)); });
}

std::vector<double> converted(const std::vector<float>& values, FileDType to) {
  const auto bytes = convert_floats(std::as_bytes(std::span(values)), FileDType::F32, to, "w");
  return decode_f64({"w", to, {static_cast<int64_t>(values.size())}, bytes});
}

TEST(TensorCodec, ConvertsAndRounds) {
  EXPECT_EQ(converted({1.0f, 0.1f}, FileDType::BF16), (std::vector<double>{1, 0.10009765625}));
  EXPECT_EQ(converted({1.0f, 0.1f}, FileDType::F16), (std::vector<double>{1, 0.0999755859375}));
  EXPECT_EQ(converted({0.1f}, FileDType::F64), (std::vector<double>{double{0.1f}}));
  EXPECT_TRUE(std::isnan(converted({NAN}, FileDType::F16)[0]));
  EXPECT_TRUE(std::isinf(converted({-INFINITY}, FileDType::F16)[0]));
}

TEST(TensorCodec, RefusesToTurnNumbersIntoInfinity) {
  expect_error(ErrorKind::unsupported, {"\"w\"", "70000", "F16"}, [] {
    converted({1.0f, 70000.0f}, FileDType::F16);
  });
  expect_error(ErrorKind::unsupported, {"BF16"}, [] { converted({3.4e38f}, FileDType::BF16); });
}

}  // namespace
}  // namespace lemnos
