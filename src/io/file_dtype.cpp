#include "io/file_dtype.h"

#include <array>

namespace lemnos {
namespace {

struct Row {
  std::string_view name;
  unsigned bits;
};

constexpr std::array<Row, 22> kRows = {{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};
constexpr const Row& row(FileDType dtype) { return kRows[static_cast<size_t>(dtype)]; }
static_assert(row(FileDType::I8).name == "I8" && row(FileDType::BF16).name == "BF16");
static_assert(row(FileDType::F32).name == "F32" && row(FileDType::U64).name == "U64");

}  // namespace

std::string_view dtype_name(FileDType dtype) { return row(dtype).name; }

std::optional<FileDType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<FileDType>(i);
  return std::nullopt;
}

unsigned dtype_bits(FileDType dtype) { return row(dtype).bits; }

bool is_decodable_float(FileDType dtype) {
  return dtype == FileDType::F64 || dtype == FileDType::F32 || dtype == FileDType::F16 ||
         dtype == FileDType::BF16;
}

bool is_decodable_integer(FileDType dtype) {
  switch (dtype) {
    case FileDType::I64:
    case FileDType::I32:
    case FileDType::I16:
    case FileDType::I8:
    case FileDType::U8:
    case FileDType::BOOL:
      return true;
    default:
      return false;
  }
}

}  // namespace lemnos
