#include "data/example.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data_pipeline/toy_encoder.h"

namespace lemnos::data {
namespace {

using Ids = std::vector<int32_t>;

Example make(const Row& row, const ExampleOptions& options = {}, ExampleNotes* notes = nullptr,
             const ToyEncoder& encoder = {}) {
  ExampleNotes own;
  return ExampleMaker(encoder, options).make(row, notes != nullptr ? *notes : own);
}

TEST(Example, TextEndsInOneEos) {
  EXPECT_EQ(make(TextRow{"ab"}).ids, (Ids{1, 10, 11, 2}));
  EXPECT_EQ(make(TextRow{"ab</s>"}).ids, (Ids{1, 10, 11, 2}));
  ToyEncoder closing;
  closing.adds_eos = true;
  EXPECT_EQ(make(TextRow{"ab"}, {}, nullptr, closing).ids, (Ids{1, 10, 11, 2}));
  const Example example = make(TextRow{"ab"});
  EXPECT_EQ(example.labels, example.ids);
  EXPECT_EQ(example.supervised, 3);
}

TEST(Example, NoEosIsAppendedWhenTheTokenizerHasNone) {
  ToyEncoder encoder;
  encoder.eos_id.reset();
  ExampleNotes notes;
  EXPECT_EQ(make(TextRow{"ab"}, {}, &notes, encoder).ids, (Ids{1, 10, 11}));
  EXPECT_TRUE(notes.eos_unknown);
}

TEST(Example, LossIsOnTheCompletionOnly) {
  const Example example = make(PairRow{"ab ", "cd"});
  EXPECT_EQ(example.ids, (Ids{1, 10, 11, 42, 12, 13, 2}));
  EXPECT_EQ(example.labels, (Ids{-100, -100, -100, -100, 12, 13, 2}));
  EXPECT_EQ(example.supervised, 3);
  EXPECT_EQ(make(PairRow{"ab", "c"}, {{}, false}).labels, (Ids{1, 10, 11, 12, 2}));
}

TEST(Example, EmptyPromptTrainsOnTheCompletion) {
  const Example example = make(PairRow{"", "cd"});
  EXPECT_EQ(example.ids, (Ids{1, 12, 13, 2}));
  EXPECT_EQ(example.labels, (Ids{-100, 12, 13, 2}));
}

TEST(Example, PromptKeepsNoEosOfThePostProcessor) {
  ToyEncoder encoder;
  encoder.adds_eos = true;
  ExampleNotes notes;
  const Example example = make(PairRow{"ab", "cd"}, {}, &notes, encoder);
  EXPECT_EQ(example.ids, (Ids{1, 10, 11, 12, 13, 2}));
  EXPECT_EQ(example.labels, (Ids{-100, -100, -100, 12, 13, 2}));
  EXPECT_FALSE(notes.boundary_merged);
}

TEST(Example, CaseB5ATokenAcrossTheBorderIsATargetAndReported) {
  ExampleNotes notes;
  const Example example = make(PairRow{"x.", "memory"}, {}, &notes);
  EXPECT_EQ(example.ids, (Ids{1, 33, 40, 14, 22, 24, 27, 34, 2}));
  EXPECT_EQ(example.labels, (Ids{-100, -100, 40, 14, 22, 24, 27, 34, 2}));
  EXPECT_TRUE(notes.boundary_merged);
  ExampleNotes clean;
  make(PairRow{"x. ", "memory"}, {}, &clean);
  EXPECT_FALSE(clean.boundary_merged);
}

TEST(Example, CaseB7ExactlyOneBos) {
  ExampleNotes notes;
  EXPECT_EQ(make(TextRow{"<s>ab"}, {}, &notes).ids, (Ids{1, 10, 11, 2}));
  EXPECT_TRUE(notes.repeated_bos_removed);
  EXPECT_EQ(make(PairRow{"<s>a", "b"}).ids, (Ids{1, 10, 11, 2}));
  EXPECT_EQ(make(PairRow{"<s>a", "b"}).labels, (Ids{-100, -100, 11, 2}));
  ToyEncoder plain;
  plain.adds_bos = false;
  EXPECT_EQ(make(TextRow{"<s>ab"}, {}, nullptr, plain).ids, (Ids{1, 10, 11, 2}));
}

TEST(Example, TextThatRepeatsBosOnPurposeIsKeptWhereTheTokenizerAddsNone) {
  ToyEncoder plain;
  plain.adds_bos = false;
  ExampleNotes notes;
  EXPECT_EQ(make(TextRow{"<s><s>a"}, {}, &notes, plain).ids, (Ids{1, 1, 10, 2}));
  EXPECT_FALSE(notes.repeated_bos_removed);
}

TEST(Example, BosThatIsAlsoEosDoesNotHideThePrompt) {
  ToyEncoder encoder;
  encoder.bos_id = encoder.eos_id = 2;
  ExampleNotes notes;
  const Example example = make(PairRow{"", "cd"}, {}, &notes, encoder);
  EXPECT_EQ(example.labels, (Ids{-100, 12, 13, 2}));
  EXPECT_FALSE(notes.boundary_merged);
}

TEST(Example, CaseB2TheFirstLabelIsNeverATarget) {
  EXPECT_EQ(make(TokenRow{{10, 11, 12, 13}, Ids{-100, -100, 12, -100}}).supervised, 1);
  EXPECT_EQ(make(TokenRow{{10, 11, 12, 13}, Ids{10, -100, -100, -100}}).supervised, 0);
  EXPECT_EQ(count_supervised({}), 0);
}

TEST(Example, TokenRowsAreTakenAsTheyAre) {
  const Example example = make(TokenRow{{5, 6, 7}, std::nullopt});
  EXPECT_EQ(example.ids, (Ids{5, 6, 7}));
  EXPECT_EQ(example.labels, (Ids{5, 6, 7}));
}

TEST(Example, CaseB3LongRowsLoseTheirEnd) {
  ExampleNotes notes;
  const Example example = make(PairRow{"abcdefghijk", "xyz"}, {10, {}}, &notes);
  EXPECT_EQ(example.ids.size(), 10u);
  EXPECT_EQ(example.supervised, 0);
  EXPECT_EQ(notes.tokens_cut, 6);
  EXPECT_EQ(notes.targets_cut, 4);
}

TEST(Example, CaseB16IdsUpToTheEmbeddingRowsAreGood) {
  EXPECT_NO_THROW(make(TokenRow{{47, 0}, std::nullopt}));
  EXPECT_THROW(make(TokenRow{{48, 0}, std::nullopt}), Error);
  EXPECT_THROW(make(TokenRow{{-1, 0}, std::nullopt}), Error);
  EXPECT_THROW(make(TokenRow{{1, 2}, Ids{-100, 48}}), Error);
  EXPECT_THROW(make(TokenRow{{1, 2}, Ids{-100, -1}}), Error);
  EXPECT_THROW(make(TextRow{"a^"}), Error);
}

TEST(Example, CompletionOnlyNeedsACompletion) {
  EXPECT_THROW(make(TextRow{"ab"}, {{}, true}), Error);
  EXPECT_THROW(make(TokenRow{{1, 2}, std::nullopt}, {{}, true}), Error);
  EXPECT_NO_THROW(make(TokenRow{{1, 2}, Ids{-100, 2}}, {{}, true}));
}

TEST(Example, WithoutATokenizerOnlyTokenRowsAreRead) {
  const TokenIdsOnly encoder(8);
  ExampleMaker maker(encoder, {});
  ExampleNotes notes;
  EXPECT_EQ(maker.make(TokenRow{{1, 7}, std::nullopt}, notes).supervised, 1);
  EXPECT_THROW(maker.make(TextRow{"a"}, notes), Error);
}

}  // namespace
}  // namespace lemnos::data
