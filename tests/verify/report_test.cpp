// Bundles written here, answers made up: what is compared, what is missing, what is refused.
#include "verify/report.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "io/safetensors_writer.h"
#include "io/temporary_dir.h"
#include "support/toy_run.h"

namespace lemnos {
namespace {

using Ids = std::vector<int64_t>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A bundle of one row of three tokens whose engine has one parameter, "w".
class Bundle {
 public:
  std::map<std::string, Ids> ids = {{"input_ids", {1, 2, 3}}, {"labels", {1, 2, 3}}};
  NamedTensors floats = {{"logits", {0.5f, 0.25f, 0.125f, 1, 2, 3}}, {"grad/w", {0.5f}}, {"step1/w", {0.75f}}};
  std::map<std::string, std::vector<double>> truths = {
      {"logits", {0.5, 0.25, 0.125, 1, 2, 3}}, {"grad/w", {0.5}}, {"step1/w", {0.75}}};
  std::string facts = R"("stage": "base", "fixture": "tiny", "profile": "eps3")";

  /// As an engine without an error would answer.
  NamedTensors answers() const { return floats; }

  Reference open() const {
    std::filesystem::create_directories(folder_.path() / "model");
    write_file_atomic(folder_.path() / "model/config.json", train::toy_model_json().dump());
    write_file_atomic(folder_.path() / "reference.json",
                      R"({"format": 1, "steps": 1, "optimizer": {"lr": 1e-3, "betas": [0.9, 0.999], "eps": 1e-3,
                          "weight_decay": 0.0}, )" + facts + "}");
    write_tensors();
    return open_reference(folder_.path());
  }

 private:
  void write_tensors() const {
    std::vector<TensorPlan> plans;
    std::map<std::string, std::span<const std::byte>> bytes;
    const auto add = [&](const std::string& name, FileDType dtype, std::vector<int64_t> shape, const auto& values) {
      plans.push_back({name, dtype, std::move(shape)});
      bytes[name] = std::as_bytes(std::span(values));
    };
    for (const auto& [name, values] : ids) add(name, FileDType::I64, {1, std::ssize(values)}, values);
    for (const auto& [name, values] : floats) add(name, FileDType::F32, {std::ssize(values)}, values);
    for (const auto& [name, values] : truths) add("truth/" + name, FileDType::F64, {std::ssize(values)}, values);
    SafetensorsWriter writer(folder_.path() / "tensors.safetensors", plans);
    for (const TensorInfo& info : writer.order()) writer.append(bytes.at(info.name));
    writer.finish();
  }
  TemporaryDir folder_{"lemnos-bundle"};
};

VerifyReport report_of(const Bundle& bundle, NamedTensors answers, double base_drift = 0) {
  return judge_results(bundle.open(), std::move(answers), {.base_drift = base_drift});
}

void expect_refused(const Bundle& bundle, ErrorKind kind, const char* part) {
  try {
    report_of(bundle, bundle.answers());
    ADD_FAILURE() << "accepted, but: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << part << " in: " << error.what();
  }
}

TEST(Report, TheRightAnswerIsGreen) {
  const Bundle bundle;
  const VerifyReport report = report_of(bundle, bundle.answers());
  EXPECT_TRUE(report.ok);
  EXPECT_EQ(report.tensors.size(), 3u);
  ASSERT_EQ(report.kinds.size(), 3u);
  for (const KindFigures& kind : report.kinds) EXPECT_TRUE(kind.gate1 == true && kind.gate2 == true) << kind.kind;
}

TEST(Report, MissingAndAdditionalNamesAreFailures) {
  const Bundle bundle;
  NamedTensors without = bundle.answers(), with = without;
  without.erase("grad/w");
  VerifyReport report = report_of(bundle, without);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.missing, std::vector<std::string>{"grad/w"});
  with["grad/v"] = {0};
  report = report_of(bundle, with);
  EXPECT_FALSE(report.ok);
  EXPECT_EQ(report.additional, std::vector<std::string>{"grad/v"});
  EXPECT_TRUE(report.missing.empty());
  EXPECT_FALSE(report_of(bundle, {}).ok);
}

TEST(Report, ATensorWithoutAGateIsNotGreen) {
  Bundle bundle;
  bundle.facts = R"("stage": "base", "fixture": "tile", "profile": "eps3")";
  EXPECT_TRUE(report_of(bundle, bundle.answers()).ok);
  bundle.truths.erase("grad/w");
  EXPECT_FALSE(report_of(bundle, bundle.answers()).ok);
}

TEST(Report, AFrozenBaseThatMovedIsAFailure) {
  const Bundle bundle;
  EXPECT_FALSE(report_of(bundle, bundle.answers(), 1e-30).ok);
  EXPECT_FALSE(report_of(bundle, bundle.answers(), static_cast<double>(kNaN)).ok);
}

TEST(Report, OtherBitsAreAFailure) {
  const Bundle bundle;
  const auto ok = [&](Invariants invariants) { return judge_results(bundle.open(), bundle.answers(), invariants).ok; };
  EXPECT_TRUE(ok({.documents_bit_equal = true, .resume_bit_equal = true}));
  EXPECT_FALSE(ok({.documents_bit_equal = false}));
  EXPECT_FALSE(ok({.resume_bit_equal = false}));
}

TEST(Report, TheBasesOwnLogitsAreComparedWhereTheBundleHasThem) {
  Bundle bundle;
  bundle.facts = R"("stage": "lora", "fixture": "tiny", "profile": "eps3")";
  bundle.floats["logits/none"] = bundle.floats["logits"];
  bundle.truths["logits/none"] = bundle.truths["logits"];
  NamedTensors answers = bundle.answers();
  EXPECT_TRUE(report_of(bundle, answers).ok);
  answers["logits/none"][4] += 1e-3f;
  EXPECT_FALSE(report_of(bundle, answers).ok);
  answers.erase("logits/none");
  EXPECT_EQ(report_of(bundle, answers).missing, std::vector<std::string>{"logits/none"});
}

TEST(Report, NotANumberIsAFailure) {
  const Bundle bundle;
  for (const char* name : {"logits", "grad/w", "step1/w"}) {
    NamedTensors answers = bundle.answers();
    answers[name][0] = kNaN;
    EXPECT_FALSE(report_of(bundle, answers).ok) << name;
  }
}

TEST(Report, AHiddenTokenIsNotCompared) {
  Bundle bundle;
  bundle.ids["attention_mask"] = {1, 1, 0};
  bundle.ids["labels"][2] = -100;
  NamedTensors answers = bundle.answers();
  answers["logits"][5] = 77;  // of the third token
  EXPECT_TRUE(report_of(bundle, answers).ok);
  answers["logits"][3] = 77;  // of the second
  EXPECT_FALSE(report_of(bundle, answers).ok);
}

TEST(Report, BundlesThatCannotBeTrueAreRefused) {
  const auto corrupt = ErrorKind::corrupt_input, unsupported = ErrorKind::unsupported;
  for (const char* name : {"logits", "grad/w", "step1/w"}) {
    Bundle nan, short_truth, nan_truth;
    nan.floats[name][0] = kNaN;
    expect_refused(nan, corrupt, name);
    nan_truth.truths[name][0] = static_cast<double>(kNaN);
    expect_refused(nan_truth, corrupt, name);
    short_truth.truths[name].pop_back();
    expect_refused(short_truth, corrupt, name);
  }
  for (const char* name : {"input_ids", "labels"}) {
    Bundle outside, absent;
    outside.ids[name][1] = 40;  // of a vocabulary of 40
    expect_refused(outside, corrupt, name);
    absent.ids.erase(name);
    expect_refused(absent, corrupt, name);
  }
  Bundle longer_mask, hidden, hole, labelled, left, position;
  longer_mask.ids["attention_mask"] = {1, 1, 1, 1};
  expect_refused(longer_mask, corrupt, "attention_mask");
  hidden.ids["attention_mask"] = {0, 0, 0};
  hidden.ids["labels"] = {-100, -100, -100};
  expect_refused(hidden, corrupt, "hides every token");
  hole.ids["attention_mask"] = {1, 0, 1};
  hole.ids["labels"] = {1, -100, -100};
  expect_refused(hole, unsupported, "padding between");
  labelled.ids["attention_mask"] = {1, 1, 0};
  expect_refused(labelled, unsupported, "padding");
  left.ids["attention_mask"] = {0, 1, 1};
  left.ids["labels"] = {-100, 2, 3};
  expect_refused(left, unsupported, "behind padding");
  left.ids["labels"] = {-100, -100, 3};
  EXPECT_TRUE(report_of(left, left.answers()).ok);
  position.ids["position_ids"] = {0, 1, 3};
  expect_refused(position, corrupt, "position_ids");
}

TEST(Report, AnotherFormatOrStageIsRefused) {
  Bundle stage, answer;
  stage.facts = R"("stage": "switch")";
  expect_refused(stage, ErrorKind::unsupported, "switch");
  NamedTensors longer = answer.answers();
  longer["grad/w"].push_back(0);
  EXPECT_THROW(report_of(answer, longer), Error);
}

TEST(Report, PackedDocumentsAndPaddingAreSegments) {
  Bundle bundle;
  bundle.ids = {{"input_ids", {1, 2, 3, 4, 5}},
                {"labels", {-100, 2, -100, 4, -100}},
                {"position_ids", {0, 1, 0, 1, 2}},
                {"attention_mask", {1, 1, 1, 1, 0}}};
  bundle.facts += R"(, "packed": true)";
  const Reference packed = bundle.open();
  EXPECT_EQ(packed.batch.segments, (std::vector<int32_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(packed.batch.supervised, 2);
  bundle.facts = R"("stage": "base")";
  EXPECT_EQ(bundle.open().batch.segments, (std::vector<int32_t>{0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace lemnos
