// Expected values are those of the `tokenizers` and `transformers` packages.
#include <gtest/gtest.h>

#include "base/error.h"
#include "text/tokenizer.h"

namespace lemnos {
namespace {

using Ids = std::vector<int32_t>;

Json parse(const std::string& text) { return Json::parse(text, "test"); }

Tokenizer with_added(const std::string& added, const std::string& normalizer = "null",
                     const TokenizerSideFiles& side_files = {}) {
  return Tokenizer::from_json(
      parse(R"({"added_tokens":[)" + added + R"(],"normalizer":)" + normalizer +
            R"(,"model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"<s>":3},"merges":[]}})"),
      side_files);
}

Ids encode(const std::string& added, std::string_view text,
           const std::string& normalizer = "null") {
  return with_added(added, normalizer).encode(text, false);
}

TEST(AddedTokens, IdsFollowFromTheModelNotFromTheFile) {
  const Tokenizer tokenizer = with_added(
      R"({"id":8,"content":"X"},{"id":1,"content":"b"},{"id":5,"content":"Y"},
          {"id":100,"content":"Z"})");
  EXPECT_EQ(tokenizer.encode("aXbYZ", false), (Ids{0, 4, 1, 5, 6}));
}

TEST(AddedTokens, StripTakesWhiteSpace) {
  EXPECT_EQ(encode(R"({"id":4,"content":"X","lstrip":true},{"id":5,"content":" "})", "a  Xb"),
            (Ids{0, 5, 5, 4, 1}));
  EXPECT_EQ(encode(R"({"id":4,"content":"X","rstrip":true},{"id":5,"content":" "})", "aX  "),
            (Ids{0, 4, 5, 5}));
  EXPECT_EQ(encode(R"({"id":4,"content":"X","lstrip":true,"rstrip":true})", "a\t X\u3000b"),
            (Ids{0, 4, 1}));
}

TEST(AddedTokens, SingleWord) {
  EXPECT_EQ(encode(R"({"id":4,"content":"X","single_word":true})", "aX X, Xb"), (Ids{0, 4, 1}));
}

TEST(AddedTokens, LongestMatchFirst) {
  EXPECT_EQ(encode(R"({"id":4,"content":"<|"},{"id":5,"content":"<|x|>"})", "<|x|><|x"),
            (Ids{5, 4}));
}

TEST(AddedTokens, NormalizedOnesMatchNormalizedText) {
  const std::string lower = R"({"type":"Lowercase"})";
  EXPECT_EQ(encode(R"({"id":4,"content":"XY","normalized":true})", "aXyXY", lower), (Ids{0, 4, 4}));
  EXPECT_EQ(encode(R"({"id":4,"content":"XY","normalized":false})", "axyXY", lower), (Ids{0, 4}));
  EXPECT_EQ(encode("{\"id\":4,\"content\":\"\u00c9\",\"normalized\":true},{\"id\":5,\"content\":"
                   "\"\u00e9\",\"normalized\":true}",
                   "a\u00c9\u00e9", lower),
            (Ids{0, 5, 5}));
}

TEST(AddedTokens, SpecialOnesAreSkippedInText) {
  const Tokenizer tokenizer =
      with_added(R"({"id":3,"content":"<s>","special":true},{"id":4,"content":"X"})");
  EXPECT_EQ(tokenizer.decode(Ids{3, 0, 4}, true), "a X");
  EXPECT_EQ(tokenizer.decode(Ids{3, 0, 4, 99}, false), "<s> a X");
}

TEST(SpecialTokens, RolesAndMissingTokensComeFromTheConfig) {
  TokenizerSideFiles files;
  files.tokenizer_config =
      parse(R"({"bos_token":{"__type":"AddedToken","content":"<s>","lstrip":true,"normalized":true},
      "eos_token":"</s>","pad_token":null,"add_bos_token":true,"image_token":"<i>",
      "additional_special_tokens":["<x>"]})");
  const Tokenizer tokenizer = with_added("", "null", files);
  EXPECT_EQ(tokenizer.bos_token_id(), 3);
  EXPECT_EQ(tokenizer.eos_token_id(), 4);
  EXPECT_EQ(tokenizer.token_to_id("<i>"), 5);
  EXPECT_EQ(tokenizer.token_to_id("<x>"), 6);
  EXPECT_EQ(tokenizer.pad_token_id(), std::nullopt);
  EXPECT_EQ(tokenizer.encode("a<s></s> <x>", true), (Ids{0, 3, 4, 6}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 3, 4, 5, 6}, true), "a");
}

TEST(SpecialTokens, TheDecoderOfTheConfigOverridesFlags) {
  TokenizerSideFiles files;
  files.tokenizer_config = parse(R"({"bos_token":"<s>","added_tokens_decoder":{
      "4":{"content":"<x>","lstrip":false,"normalized":false,"rstrip":false,
           "single_word":false,"special":false},
      "3":{"content":"<s>","lstrip":true,"normalized":false,"rstrip":false,
           "single_word":false,"special":true}}})");
  files.special_tokens_map = parse(R"({"eos_token":"a"})");
  const Tokenizer tokenizer =
      with_added(R"({"id":3,"content":"<s>","special":true})", "null", files);
  EXPECT_EQ(tokenizer.token_to_id("<x>"), 4);
  EXPECT_EQ(tokenizer.eos_token_id(), std::nullopt);
  EXPECT_EQ(tokenizer.decode(Ids{0, 3, 4}, true), "a <x>");
}

TEST(SpecialTokens, OlderFoldersHaveSpecialTokensMap) {
  TokenizerSideFiles files;
  files.special_tokens_map =
      parse(R"({"bos_token":{"content":"<s>","lstrip":true},"eos_token":"<x>","pad_token":"<s>"})");
  files.added_tokens = parse(R"({"<y>":5})");
  const Tokenizer tokenizer =
      with_added(R"({"id":3,"content":"<s>","special":true})", "null", files);
  EXPECT_EQ(tokenizer.bos_token_id(), 3);
  EXPECT_EQ(tokenizer.pad_token_id(), 3);
  EXPECT_EQ(tokenizer.token_to_id("<y>"), 4);
  EXPECT_EQ(tokenizer.eos_token_id(), 5);
}

}  // namespace
}  // namespace lemnos
