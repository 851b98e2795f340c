#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.h"
#include "io/checkpoint.h"
#include "io/checkpoint_writer.h"
#include "io/tensor_codec.h"
#include "io/test_files.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;

/// Files that parity/safetensors_cases.py wrote with the reference libraries.
class PythonFiles : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("LEMNOS_SAFETENSORS_CASES");
    if (folder == nullptr) GTEST_SKIP() << "LEMNOS_SAFETENSORS_CASES is not set";
    folder_ = folder;
  }
  fs::path folder_;
};

TEST_F(PythonFiles, ValuesAreThoseThatPythonWrote) {
  const SafetensorsFile file = SafetensorsFile::open(folder_ / "single.safetensors");
  const Json expected = Json::parse(read_file(folder_ / "single.json"), "single.json");
  ASSERT_EQ(file.tensors().size(), expected.as_object().size());
  for (const auto& [name, values] : expected.as_object()) {
    const TensorView* tensor = file.find(name);
    ASSERT_NE(tensor, nullptr) << name;
    std::vector<double> numbers;
    if (is_decodable_float(tensor->dtype))
      numbers = decode_f64(*tensor);
    else
      for (const int64_t value : decode_i64(*tensor)) numbers.push_back(static_cast<double>(value));
    ASSERT_EQ(numbers.size(), values.as_array().size()) << name;
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(numbers[i], values.as_array()[i].as_number()) << name;
  }
}

TEST_F(PythonFiles, WriterGivesTheSameBytes) {
  const TempFolder folder;
  const SafetensorsFile file = SafetensorsFile::open(folder_ / "single.safetensors");
  std::vector<TensorPlan> plans;
  for (const TensorView& tensor : file.tensors())
    plans.insert(plans.begin(), {std::string(tensor.name), tensor.dtype, tensor.shape});
  SafetensorsWriter writer(folder / "ours.safetensors", plans, file.metadata());
  for (const TensorInfo& tensor : writer.order()) writer.append(file.find(tensor.name)->bytes);
  writer.finish();
  EXPECT_EQ(read_file(folder / "ours.safetensors"), read_file(folder_ / "single.safetensors"));
}

void expect_rewritten_equal(const fs::path& theirs, uint64_t max_shard_bytes) {
  const TempFolder folder;
  const Checkpoint checkpoint = Checkpoint::open(theirs);
  std::vector<TensorSource> sources;
  const Json order = Json::parse(read_file(theirs / "order.json"), "order.json");
  for (const Json& name : order.as_array()) {
    const TensorView& view = checkpoint.view(name.as_string());
    sources.push_back({{name.as_string(), view.dtype, view.shape},
                       [&view](const ByteSink& sink) { sink(view.bytes); }});
  }
  write_checkpoint(folder.path(), sources, {.max_shard_bytes = max_shard_bytes});
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(read_file(entry.path()), read_file(theirs / name)) << theirs << name;
    ++files;
  }
  const auto written = static_cast<size_t>(std::distance(fs::directory_iterator(theirs), {}));
  EXPECT_EQ(files, written - 3) << "all but config, generation_config and order.json";
}

TEST_F(PythonFiles, ShardsAndIndexAreThoseOfSavePretrained) {
  expect_rewritten_equal(folder_ / "5KB", 5'000);
  expect_rewritten_equal(folder_ / "10KB", 10'000);
  expect_rewritten_equal(folder_ / "1MB", 1'000'000);
}

}  // namespace
}  // namespace lemnos
