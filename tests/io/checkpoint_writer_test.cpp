#include "io/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/json.h"
#include "io/checkpoint.h"
#include "io/tensor_codec.h"
#include "io/test_files.h"

namespace lemnos {
namespace {

using test::expect_error;
using test::TempFolder;

/// 1, 2, 3, ... delivered two elements at a time.
TensorSource counting(const std::string& name, int64_t elements) {
  return {{name, FileDType::F32, {elements}}, [elements](const ByteSink& sink) {
            for (int64_t i = 0; i < elements; i += 2) {
              const float pair[] = {static_cast<float>(i + 1), static_cast<float>(i + 2)};
              const auto count = static_cast<size_t>(std::min<int64_t>(2, elements - i));
              sink(std::as_bytes(std::span(pair, count)));
            }
          }};
}

TEST(CheckpointWriter, OneFileWhenItFits) {
  const TempFolder folder;
  write_checkpoint(folder.path(), {counting("b", 5), counting("a", 2)}, {.max_shard_bytes = 28});
  EXPECT_FALSE(std::filesystem::exists(folder / "model.safetensors.index.json"));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(decode_f32(checkpoint.view("b")), (std::vector<float>{1, 2, 3, 4, 5}));
  EXPECT_EQ(decode_f32(checkpoint.view("a")), (std::vector<float>{1, 2}));
}

TEST(CheckpointWriter, ShardsInTheOrderGiven) {
  const TempFolder folder;
  write_checkpoint(folder.path(),
                   {counting("c", 4), counting("a", 1), counting("big", 9), counting("b", 4)},
                   {.max_shard_bytes = 20});
  const Json index = Json::parse(read_file(folder / "model.safetensors.index.json"), "index");
  const Json& map = index.at("weight_map");
  EXPECT_EQ(map.at("big").as_string(), "model-00001-of-00003.safetensors");
  EXPECT_EQ(map.at("c").as_string(), "model-00002-of-00003.safetensors");
  EXPECT_EQ(map.at("a").as_string(), "model-00002-of-00003.safetensors");
  EXPECT_EQ(map.at("b").as_string(), "model-00003-of-00003.safetensors");
  EXPECT_EQ(index.at("metadata").at("total_size").as_integer(), 72);
  EXPECT_EQ(index.at("metadata").at("total_parameters").as_integer(), 18);
  EXPECT_EQ(Checkpoint::open(folder.path()).names().size(), 4u);
}

TEST(CheckpointWriter, ConvertsFloatsAndKeepsIntegers) {
  const TempFolder folder;
  const int64_t ids[] = {7, -7};
  const TensorSource integers = {{"ids", FileDType::I64, {2}}, [&](const ByteSink& sink) {
                                   sink(std::as_bytes(std::span(ids)));
                                 }};
  write_checkpoint(folder.path(), {counting("w", 3), integers}, {.dtype = FileDType::BF16});
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.view("w").dtype, FileDType::BF16);
  EXPECT_EQ(decode_f32(checkpoint.view("w")), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(decode_i64(checkpoint.view("ids")), (std::vector<int64_t>{7, -7}));
}

TEST(CheckpointWriter, SourcesThatDeliverTooLittleAreOurBug) {
  const TempFolder folder;
  const TensorSource liar = {{"w", FileDType::F32, {2}}, [](const ByteSink&) {}};
  EXPECT_THROW(write_checkpoint(folder.path(), {liar}), InternalError);
}

TEST(CheckpointWriter, RefusesAFolderThatHoldsWeights) {
  const TempFolder folder;
  write_checkpoint(folder.path(), {counting("a", 1)});
  expect_error(ErrorKind::io, {"model.safetensors"},
               [&] { write_checkpoint(folder.path(), {counting("a", 1)}); });
  write_checkpoint(folder.path(), {counting("a", 1)}, {.stem = "adapter_model"});
}

TEST(CheckpointWriter, FullDeviceNamesFileAndReason) {
  std::vector<std::byte> block(1 << 16);
  expect_error(ErrorKind::io, {"/dev/full", "No space left"}, [&] {
    FileWriter writer("/dev/full");
    writer.write(block);
  });
}

}  // namespace
}  // namespace lemnos
