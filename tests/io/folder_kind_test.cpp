#include "io/folder_kind.h"

#include "io/test_files.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;

class FolderKinds : public testing::Test {
 protected:
  fs::path with(const std::string& name, const std::string& file, const std::string& text = "{}") {
    fs::create_directories(folder_ / name);
    test::write_text(folder_ / name / file, text);
    return folder_ / name;
  }
  void expect_refused(const fs::path& folder, const FolderKind& kind, std::initializer_list<std::string> parts) {
    try {
      require_folder(folder, kind);
      ADD_FAILURE() << "accepted " << folder;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
      for (const std::string& part : parts)
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
    }
  }
  test::TempFolder folder_;
};

TEST_F(FolderKinds, TheRightOneIsTaken) {
  EXPECT_NO_THROW(require_folder(with("model", "config.json"), kModelFolder));
  EXPECT_NO_THROW(require_folder(with("adapter", "adapter_config.json"), kAdapterFolder));
  EXPECT_NO_THROW(require_folder(with("bundle", "reference.json"), kReferenceFolder));
  EXPECT_EQ(config_file(folder_ / "model"), folder_ / "model/config.json");
  EXPECT_EQ(config_file(folder_ / "other.json"), folder_ / "other.json");
}

TEST_F(FolderKinds, AnotherKindIsNamedWithWhatToGive) {
  const fs::path adapter = with("adapter", "adapter_config.json", R"({"base_model_name_or_path": "models/base"})");
  expect_refused(adapter, kModelFolder, {"adapter is not a model folder", "no config.json", "PEFT adapter of models/base", "--adapter"});
  expect_refused(with("damaged", "adapter_config.json", "{"), kModelFolder, {"it is a PEFT adapter;"});
  expect_refused(with("model", "config.json"), kAdapterFolder, {"is not a PEFT adapter folder", "it is a whole model"});
  expect_refused(with("model", "config.json"), kReferenceFolder, {"no reference.json", "it is a whole model"});
  expect_refused(with("bundle", "reference.json"), kModelFolder, {"`lemnos verify`"});
  expect_refused(with("pictures", "a.png"), kModelFolder, {"pictures is not a model folder in Hugging Face layout (it has no config.json)"});
}

TEST_F(FolderKinds, WhatLiesBelowIsOffered) {
  with("run/checkpoint-100", "config.json");
  const fs::path nine = with("run/checkpoint-9", "config.json");
  expect_refused(folder_ / "run", kModelFolder, {"there is one in " + nine.string() + ", "});
  with("lora/checkpoint-9", "adapter_config.json");
  expect_refused(folder_ / "lora", kModelFolder, {"PEFT adapters in", "checkpoint-9", "base model"});
  expect_refused(folder_ / "lora", kAdapterFolder, {"there is one in", "checkpoint-9"});
  const fs::path snapshot = with("models--org--name/snapshots/0123", "config.json");
  expect_refused(folder_ / "models--org--name", kModelFolder, {snapshot.string()});
  for (int i = 0; i < 6; ++i) with("many/bundle-" + std::to_string(i), "reference.json");
  expect_refused(folder_ / "many", kReferenceFolder, {"bundle-3 and 2 more, the last", "bundle-5"});
}

TEST_F(FolderKinds, FilesAndMissingOnes) {
  const fs::path model = with("model", "config.json");
  expect_refused(model / "config.json", kModelFolder, {"is a file; give its folder, " + model.string()});
  expect_refused(with("empty", "a.txt") / "a.txt", kModelFolder, {"is a file; expected a model folder"});
  expect_refused(folder_ / "nowhere", kModelFolder, {"there is no such folder"});
  expect_refused("~/models/x", kModelFolder, {"\"~\" is not expanded"});
  expect_refused("org/name", kModelFolder, {"nothing is fetched from the Hub", "hf download org/name --local-dir name"});
  expect_refused(model / "config.json" / "deeper", kModelFolder, {"deeper"});
}

}  // namespace
}  // namespace lemnos
