// Whatever the bytes: a file opens and every tensor lies inside of it, or it is an Error that says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "base/json.h"
#include "io/safetensors.h"
#include "io/safetensors_header.h"
#include "io/test_files.h"
#include "support/property.h"

namespace lemnos::test {
namespace {

using Random = std::mt19937_64;

std::string random_tensor_entry(Random& random, uint64_t& end) {
  static constexpr const char* kDtypes[] = {"F32", "F64", "BF16", "I64", "BOOL", "F8_E4M3", "F4"};
  static constexpr int64_t kBits[] = {32, 64, 16, 64, 8, 8, 4};
  const auto dtype = static_cast<size_t>(random() % std::size(kDtypes));
  int64_t elements = 2;
  std::string shape = "2";
  for (auto dimensions = random() % 3; dimensions > 0; --dimensions) {
    const auto size = static_cast<int64_t>(random() % 4);
    shape += "," + std::to_string(size);
    elements *= size;
  }
  const uint64_t begin = end;
  end += static_cast<uint64_t>(elements * kBits[dtype] / 8);
  return format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", kDtypes[dtype], shape, begin, end);
}

/// A sound file of up to four tensors.
std::string sound_file(Random& random) {
  std::string header = "{";
  if (random() % 2 == 0) header += R"("__metadata__":{"format":"pt"},)";
  uint64_t end = 0;
  const auto tensors = 1 + random() % 4;
  for (uint64_t i = 0; i < tensors; ++i) header += format(R"("w{}":{},)", i, random_tensor_entry(random, end));
  header.back() = '}';
  header.append(random() % 8, ' ');
  return raw_safetensors(header, end);
}

void replace_a_number(std::string& file, Random& random) {
  static constexpr const char* kNumbers[] = {"-1", "0", "1", "9", "1e3", "0.5", "null", "9223372036854775807",
                                             "18446744073709551616", "4611686018427387904", "\"8\"", "[]"};
  const size_t start = file.find_first_of("0123456789", 8 + random() % (file.size() - 8));
  if (start == std::string::npos) return;
  const size_t end = file.find_first_not_of("0123456789", start);
  file.replace(start, std::min(end, file.size()) - start, pick(kNumbers, random));
  const uint64_t header = file.rfind('}') + 1 - 8;  // a header of the right length is read further
  std::memcpy(file.data(), &header, sizeof(header));
}

void damage(std::string& file, Random& random) {
  const auto at = [&] { return static_cast<size_t>(random() % file.size()); };
  switch (random() % 7) {
    case 0: file.resize(at()); break;
    case 1: file[at()] = static_cast<char>(random()); break;
    case 2: file.append(1 + random() % 9, '\0'); break;
    case 3: file[random() % 8] = static_cast<char>(random()); break;
    case 4: file.erase(at(), 1 + random() % 5); break;
    case 5: file.insert(at(), file.substr(at(), random() % 40)); break;
    default: replace_a_number(file, random);
  }
}

void expect_inside(const SafetensorsFile& file, size_t size, uint64_t number) {
  size_t bytes = 0;
  for (const TensorView& tensor : file.tensors()) {
    EXPECT_EQ(tensor.bytes.size(), tensor_bytes(tensor.dtype, tensor.shape, "test")) << "case " << number;
    bytes += tensor.bytes.size();
    uint8_t sum = 0;
    for (const std::byte b : tensor.bytes) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(b));
    EXPECT_EQ(file.find(tensor.name), &tensor) << "case " << number << ", sum " << int{sum};
  }
  EXPECT_LT(bytes, size) << "case " << number;
}

TEST(SafetensorsProperty, ADamagedFileIsAnErrorOrSound) {
  const TempFolder folder;
  const uint64_t cases = property_cases(500);
  uint64_t opened = 0;
  for (uint64_t number = 0; number < cases; ++number) {
    Random random(number);
    std::string bytes = sound_file(random);
    for (auto times = random() % 3; times > 0 && bytes.size() > 8; --times) damage(bytes, random);
    write_text(folder / "model.safetensors", bytes);
    try {
      expect_inside(SafetensorsFile::open(folder / "model.safetensors"), bytes.size(), number);
      ++opened;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt_input) << "case " << number << ": " << error.what();
      EXPECT_NE(std::string_view(error.what()).find("model.safetensors"), std::string_view::npos) << error.what();
    } catch (const std::exception& other) {
      FAIL() << "case " << number << ": " << other.what();
    }
  }
  EXPECT_GT(opened, cases / 4) << "the undamaged third opens";
  EXPECT_LT(opened, cases * 3 / 4);
}

}  // namespace
}  // namespace lemnos::test
