#include "io/checkpoint.h"

#include <gtest/gtest.h>

#include "io/test_files.h"

namespace lemnos {
namespace {

using test::expect_error;
using test::small_file;
using test::TempFolder;
using test::write_text;

constexpr const char* kShard1 = "model-00001-of-00002.safetensors";
constexpr const char* kShard2 = "model-00002-of-00002.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

void write_index(const TempFolder& folder, std::string_view weight_map) {
  write_text(folder / kIndex,
             format(R"({{"metadata":{{"total_size":24}},"weight_map":{{{}}}}})", weight_map));
}

/// Tensors a, b in the first shard, c in the second.
void write_sharded(const TempFolder& folder) {
  write_text(folder / kShard1, small_file({"a", "b"}));
  write_text(folder / kShard2, small_file({"c"}));
  write_index(folder, format(R"("a":"{0}","b":"{0}","c":"{1}")", kShard1, kShard2));
}

TEST(Checkpoint, ReadsOneFile) {
  const TempFolder folder;
  write_text(folder / "model.safetensors", small_file({"b", "a"}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(checkpoint.view("a").bytes.size(), 8u);
  EXPECT_TRUE(checkpoint.notes().empty());
  expect_error(ErrorKind::corrupt_input, {"\"x\""}, [&] { checkpoint.view("x"); });
}

TEST(Checkpoint, ReadsShards) {
  const TempFolder folder;
  write_sharded(folder);
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_TRUE(checkpoint.contains("c"));
}

TEST(Checkpoint, ReadsAnAdapterBesideAModel) {
  const TempFolder folder;
  write_text(folder / "model.safetensors", small_file({"a"}));
  write_text(folder / "adapter_model.safetensors", small_file({"lora"}));
  EXPECT_TRUE(Checkpoint::open_adapter(folder.path()).contains("lora"));
  EXPECT_FALSE(Checkpoint::open(folder.path()).contains("lora"));
}

TEST(Checkpoint, NamesAMissingShard) {
  const TempFolder folder;
  write_sharded(folder);
  std::filesystem::remove(folder / kShard2);
  expect_error(ErrorKind::corrupt_input, {kIndex, "1 of 2", kShard2},
               [&] { Checkpoint::open(folder.path()); });
}

TEST(Checkpoint, StaleShardsAreLeftAlone) {
  const TempFolder folder;
  write_sharded(folder);
  write_text(folder / "model-00001-of-00003.safetensors", small_file({"c", "a"}));
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  EXPECT_EQ(checkpoint.names().size(), 3u);
  ASSERT_EQ(checkpoint.notes().size(), 1u);
  EXPECT_NE(checkpoint.notes()[0].find("model-00001-of-00003"), std::string::npos);
}

TEST(Checkpoint, IndexIsAnAllowListBothWays) {
  const TempFolder folder;
  write_sharded(folder);
  write_index(folder, format(R"("a":"{0}","b":"{0}","d":"{0}","c":"{1}")", kShard1, kShard2));
  expect_error(ErrorKind::corrupt_input, {kShard1, "\"d\""},
               [&] { Checkpoint::open(folder.path()); });
  write_index(folder, format(R"("a":"{0}","c":"{1}")", kShard1, kShard2));
  expect_error(ErrorKind::corrupt_input, {kShard1, "\"b\""},
               [&] { Checkpoint::open(folder.path()); });
}

TEST(Checkpoint, RefusesIndicesThatLeaveTheFolder) {
  const TempFolder folder;
  for (const char* map : {R"("a":"../m.safetensors")", R"("a":"/etc/passwd")", R"("a":"..")",
                          R"("a":"")", R"("a":1)", ""}) {
    write_index(folder, map);
    expect_error(ErrorKind::corrupt_input, {kIndex}, [&] { Checkpoint::open(folder.path()); });
  }
}

TEST(Checkpoint, RefusesTwoCompleteSetsOfWeights) {
  const TempFolder folder;
  write_sharded(folder);
  write_text(folder / "model.safetensors", small_file({"a", "b", "c"}));
  expect_error(ErrorKind::corrupt_input, {"both", kIndex},
               [&] { Checkpoint::open(folder.path()); });
  std::filesystem::remove(folder / kShard1);
  EXPECT_EQ(Checkpoint::open(folder.path()).notes().size(), 1u);
}

TEST(Checkpoint, GgufAndPicklesAreRefusedWithAdvice) {
  const TempFolder folder;
  write_text(folder / "model-q4.gguf", "x");
  expect_error(ErrorKind::unsupported, {"model-q4.gguf", "safetensors"}, [&] { Checkpoint::open(folder.path()); });
  write_text(folder / "pytorch_model.bin", "x");
  expect_error(ErrorKind::unsupported, {"pytorch_model.bin", "save_pretrained"},
               [&] { Checkpoint::open(folder.path()); });
  write_text(folder / "adapter_model.bin", "x");
  expect_error(ErrorKind::unsupported, {"adapter_model.bin"},
               [&] { Checkpoint::open_adapter(folder.path()); });
}

TEST(Checkpoint, NoWeightsAtAll) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"found neither"}, [&] { Checkpoint::open(folder.path()); });
  expect_error(ErrorKind::io, {"no such folder"}, [&] { Checkpoint::open(folder / "nowhere"); });
}

}  // namespace
}  // namespace lemnos
