#include "vk/pipeline_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/format.h"

namespace lemnos::vk {
namespace {

class PipelineFileTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(file_.parent_path()); }
  std::filesystem::path file_ = std::filesystem::temp_directory_path() /
                                format("lemnos-pipelines-{}", getpid()) / "cache.bin";
  const std::vector<std::byte> content_ = std::vector<std::byte>(100, std::byte{7});
};

TEST_F(PipelineFileTest, WhatIsWrittenIsReadBack) {
  write_pipeline_file(file_, content_);
  EXPECT_EQ(read_pipeline_file(file_), content_);
}

TEST_F(PipelineFileTest, AnAbsentCutOrAlteredFileReadsAsEmpty) {
  EXPECT_TRUE(read_pipeline_file(file_).empty());
  write_pipeline_file(file_, content_);
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) - 1);
  EXPECT_TRUE(read_pipeline_file(file_).empty());
  write_pipeline_file(file_, content_);
  std::fstream(file_, std::ios::in | std::ios::out | std::ios::binary).seekp(60).put('x');
  EXPECT_TRUE(read_pipeline_file(file_).empty());
}

}  // namespace
}  // namespace lemnos::vk
