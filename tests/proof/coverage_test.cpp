#include "proof/coverage.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/toy_engine.h"
#include "train/claim.h"
#include "train/proof_gate.h"

namespace lemnos::proof {
namespace {

using Names = std::vector<std::string>;

Claim claim(const char* family, const std::string& stage, const char* more = "{}",
            const std::map<std::string, DType>& dtypes = {}) {
  return claim_of(test::toy_model(family, more), stage, dtypes);
}

/// What a green record of that claim says.
Record record_of(const Claim& claimed) {
  return {.surface = "toy", .family = claimed.program.family, .stage = claimed.program.stage, .device = "lavapipe",
          .features = claimed.features, .ops = claimed.program.ops, .green = true, .current = true};
}

Names missing(const Coverage& coverage, Lack lack) {
  Names found;
  for (const Missing& lacking : coverage.missing)
    if (lacking.lack == lack) found.push_back(lacking.what);
  return found;
}

constexpr const char* kTied = R"({"tie_word_embeddings": true})";
constexpr const char* kPad = R"({"pad_token_id": 3})";
constexpr const char* kTiedPad = R"({"tie_word_embeddings": true, "pad_token_id": 3})";

TEST(Coverage, OneRecordOfTheSameFeaturesProves) {
  const Claim wanted = claim("llama", "base");
  const std::vector<Record> records{record_of(claim("llama", "base", R"({"hidden_size": 64, "num_hidden_layers": 3})"))};
  EXPECT_TRUE(cover(wanted, records).proven()) << cover(wanted, records).text();
}

TEST(Coverage, WithoutARecordNothingIsProven) {
  const Coverage nothing = cover(claim("llama", "base"), {});
  EXPECT_FALSE(nothing.proven());
  EXPECT_FALSE(nothing.any_record);
  EXPECT_NE(nothing.text().find("no record"), std::string::npos);
}

TEST(Coverage, AnotherFamilyOrStageProvesNothing) {
  const std::vector<Record> records{record_of(claim("llama", "lora")), record_of(claim("mistral", "base", R"({"sliding_window": null})"))};
  EXPECT_FALSE(cover(claim("llama", "base"), records).proven());
}

TEST(Coverage, FeaturesMayComeFromSeveralRecords) {
  const std::vector<Record> records{record_of(claim("llama", "base", R"({"attention_bias": true})")),
                                    record_of(claim("llama", "base", R"({"mlp_bias": true})"))};
  const Claim both = claim("llama", "base", R"({"attention_bias": true, "mlp_bias": true})");
  EXPECT_TRUE(cover(both, records).proven()) << cover(both, records).text();
}

TEST(Coverage, AFeatureInNoRecordIsNamed) {
  const std::vector<Record> records{record_of(claim("llama", "base"))};
  const Coverage coverage = cover(claim("llama", "base", kTied), records);
  EXPECT_EQ(missing(coverage, Lack::absent), Names{"tied_embeddings"});
  EXPECT_NE(coverage.text().find("tied_embeddings"), std::string::npos);
}

TEST(Coverage, TheFieldsThatAFeatureComesFromAreNamed) {
  const std::vector<Record> records{record_of(claim("llama", "base", R"({"num_attention_heads": 4, "num_key_value_heads": 2})"))};
  const Coverage coverage = cover(claim("llama", "base", R"({"num_attention_heads": 4, "num_key_value_heads": 1, "tie_word_embeddings": true})"),
                                  records);
  const std::string text = coverage.text();
  EXPECT_NE(text.find("in no record: attention:mqa (num_attention_heads = 4, num_key_value_heads = 1), "
                      "tied_embeddings (tie_word_embeddings = true)"), std::string::npos) << text;
  EXPECT_EQ(to_json(coverage).at("missing").as_array()[0].at("fields").as_string(), "num_attention_heads = 4, num_key_value_heads = 1");
}

TEST(Coverage, AnOpIsNamedWhereFeaturesSayNothing) {
  std::vector<Record> records{record_of(claim("llama", "base"))};
  std::erase(records[0].ops, "swiglu");
  const Coverage coverage = cover(claim("llama", "base"), records);
  EXPECT_EQ(missing(coverage, Lack::absent), Names{"op swiglu"});
  EXPECT_NE(coverage.text().find("op swiglu"), std::string::npos);
  EXPECT_EQ(cover(claim("llama", "base", kTied), records).text().find("op swiglu"), std::string::npos);
}

TEST(Coverage, PairsMustBeGreenTogether) {
  std::vector<Record> records{record_of(claim("llama", "base", kTied)), record_of(claim("llama", "base", kPad))};
  EXPECT_EQ(missing(cover(claim("llama", "base", kTiedPad), records), Lack::absent), Names{"tied_embeddings with pad_token"});
  records.push_back(record_of(claim("llama", "base", kTiedPad)));
  EXPECT_TRUE(cover(claim("llama", "base", kTiedPad), records).proven());
}

TEST(Coverage, ARecordOutsideTheGatesProvesNothing) {
  std::vector<Record> records{record_of(claim("llama", "base"))};
  records[0].green = false;
  const Coverage coverage = cover(claim("llama", "base"), records);
  EXPECT_EQ(missing(coverage, Lack::red).size(), coverage.missing.size());
  EXPECT_NE(coverage.text().find("outside the gates"), std::string::npos);
}

TEST(Coverage, AStaleRecordProvesNothingAndSaysSo) {
  std::vector<Record> records{record_of(claim("llama", "base"))};
  records[0].current = false;
  const Coverage coverage = cover(claim("llama", "base"), records);
  EXPECT_FALSE(coverage.proven());
  EXPECT_NE(coverage.text().find("made from other sources"), std::string::npos);
}

TEST(Coverage, AnyDeviceWillDo) {
  std::vector<Record> records{record_of(claim("llama", "base")), record_of(claim("llama", "base"))};
  records[0].green = false;
  records[1].device = "h200";
  EXPECT_TRUE(cover(claim("llama", "base"), records).proven());
}

TEST(Coverage, FrozenWeightsOf16BitsAreAFeatureOfLora) {
  const std::map<std::string, DType> stored{{"lm_head.weight", DType::bf16}};
  const std::vector<Record> lora{record_of(claim("llama", "lora"))}, base{record_of(claim("llama", "base"))};
  EXPECT_EQ(missing(cover(claim("llama", "lora", "{}", stored), lora), Lack::absent), Names{"weights:bf16"});
  EXPECT_TRUE(cover(claim("llama", "base", "{}", stored), base).proven()) << "trained weights are float32";
}

TEST(ProofGate, RefusesByNameAndNamesTheWayOut) {
  const std::vector<Record> records{record_of(claim("llama", "base"))};
  try {
    train::require_proven(claim("llama", "base", kTied), records, /*allow_unqualified=*/false);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    for (const char* part : {"tied_embeddings", "full training of llama", "--allow-unqualified"})
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
  EXPECT_FALSE(train::require_proven(claim("llama", "base", kTied), records, true).proven());
  EXPECT_TRUE(train::require_proven(claim("llama", "base"), records, false).proven());
}

TEST(ProofGate, OneTokenOfAShaderMakesTheRecordStale) {
  const Claim wanted = claim("llama", "base");
  Json written = Json::parse(R"({"format": 1, "surface": "llama", "family": "llama", "stage": "base", "device": "lavapipe",
      "device_name": "llvmpipe", "driver": "Mesa", "green": true, "worst": 1e-8, "oracle_noise": 1e-8})", "record");
  Json features = Json::array(), ops = Json::array();
  for (const std::string& feature : wanted.features) features.push_back(feature);
  for (const std::string& op : wanted.program.ops) ops.push_back(op);
  written.set("features", features);
  written.set("ops", ops);
  written.set("sources", fingerprint(source_table(), wanted.program));
  const std::vector<Record> now{read_record(written.dump(), "record", source_table())};
  EXPECT_TRUE(cover(wanted, now).proven());

  std::vector<SourceFile> edited = source_table();
  for (SourceFile& source : edited)
    if (source.path == "ops/norm/rms_norm.comp") source.sha256[0] = source.sha256[0] == '0' ? '1' : '0';
  const std::vector<Record> later{read_record(written.dump(), "record", edited)};
  EXPECT_FALSE(cover(wanted, later).proven());
}

}  // namespace
}  // namespace lemnos::proof
