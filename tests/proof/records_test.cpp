#include "proof/records.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/checkpoint.h"
#include "models/model_builder.h"
#include "proof/coverage.h"
#include "support/toy_engine.h"
#include "train/claim.h"
#include "train/weights.h"

namespace lemnos::proof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAnew = "; `scripts/qualify` makes the records anew";

Json sound() {
  return Json::parse(R"({"format": 1, "surface": "s", "family": "llama", "stage": "base", "device": "lavapipe",
      "device_name": "llvmpipe", "driver": "Mesa", "features": ["b", "a"], "ops": ["linear"], "sources": "00",
      "green": true, "worst": 1e-8, "oracle_noise": null, "evidence": {}, "bundles": []})", "sound");
}

Record read(const Json& json) { return read_record(json.dump(), "file.json", source_table()); }

TEST(Record, IsReadWhole) {
  const Record record = read(sound());
  EXPECT_EQ(record.surface, "s");
  EXPECT_EQ(record.features, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(record.worst, 1e-8);
  EXPECT_EQ(record.oracle_noise, std::nullopt);
  EXPECT_TRUE(record.green);
  EXPECT_FALSE(record.current) << "00 is no fingerprint";
}

TEST(Record, IsCurrentByTheFingerprintOfItsOps) {
  Json json = sound();
  json.set("sources", fingerprint(source_table(), {"llama", "base", {"linear"}}));
  EXPECT_TRUE(read(json).current);
  json.set("stage", "lora");
  EXPECT_FALSE(read(json).current);
}

TEST(Record, WhatIsMissingOrOfAnotherTypeIsNamed) {
  for (const char* key : {"format", "surface", "family", "stage", "device", "device_name", "driver", "features", "ops",
                          "sources", "green"})
    for (const bool absent : {true, false}) {
      Json json = sound();
      if (absent)
        json.erase(key);
      else
        json.set(key, Json::object());
      try {
        read(json);
        ADD_FAILURE() << key;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
        EXPECT_NE(std::string(error.what()).find("file.json"), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
      }
    }
  EXPECT_THROW(read_record("{\"format\": 1", "file.json", source_table()), Error);
  Json later = sound();
  later.set("format", 2);
  EXPECT_THROW(read(later), Error);
}

TEST(RecordsOfTheTree, CanBeRead) {
  for (const std::string& problem : embedded_records().problems) ADD_FAILURE() << problem << kAnew;
}

TEST(RecordsOfTheTree, AreEmbeddedOneAndAll) {
  size_t files = 0;
  const fs::path folder = fs::path(LEMNOS_SOURCE_TREE) / "qualification";
  if (fs::exists(folder))
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
      files += entry.path().extension() == ".json" ? 1 : 0;
  EXPECT_EQ(embedded_records().all.size() + embedded_records().problems.size(), files);
  for (const Record& record : embedded_records().all)
    EXPECT_EQ(record.file, "qualification/" + record.device + "/" + record.surface + "." + record.stage + ".json");
}

/// Those of lavapipe decide, as everyone can make them; others are evidence of the commit they name.
TEST(RecordsOfTheTree, AreOfTheseSources) {
  for (const Record& record : embedded_records().all)
    EXPECT_TRUE(record.current || record.device != "lavapipe")
        << record.file << " is stale: it was made from other sources than this program's" << kAnew;
}

void expect_proven(const ModelConfig& model, const std::string& stage, const std::map<std::string, DType>& dtypes) {
  const Coverage coverage = cover(claim_of(model, stage, dtypes), embedded_records().all);
  EXPECT_TRUE(coverage.proven()) << coverage.text() << kAnew;
}

/// What tests and the demo train, without --allow-unqualified.
TEST(RecordsOfTheTree, ProveWhatTestsAndTheDemoTrain) {
  for (const bool tied : {false, true})
    for (const std::string stage : {"base", "lora"})
      expect_proven(read_model_config(train::toy_model_json(tied), "toy"), stage, {});
  const ModelConfig toy = test::toy_model();
  expect_proven(toy, "lora", {{"lm_head.weight", DType::bf16}});
  const fs::path demo = fs::path(LEMNOS_SOURCE_TREE) / "examples/demo/model";
  const ModelConfig model = read_model_config(demo / "config.json");
  expect_proven(model, "lora", stored_dtypes(model, outline(model).parameters, Checkpoint::open(demo)));
}

}  // namespace
}  // namespace lemnos::proof
