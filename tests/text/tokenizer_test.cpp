#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"

namespace lemnos {
namespace {

using Ids = std::vector<int32_t>;

Json parse(const std::string& text) { return Json::parse(text, "test"); }

void set_all(Json& json, const Json& fields) {
  for (const auto& [key, value] : fields.as_object()) json.set(key, value);
}

/// a b c ab " " with one merge; further fields are set from `fields`.
Json small_tokenizer(const std::string& fields = "{}", const std::string& model_fields = "{}") {
  Json json = parse(
      R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,
          "decoder":null,
      "model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3," ":4},"merges":["a b"]}})");
  set_all(json, parse(fields));
  Json model = json.at("model");
  set_all(model, parse(model_fields));
  json.set("model", model);
  return json;
}

Ids encode(const Json& json, std::string_view text) {
  return Tokenizer::from_json(json).encode(text, false);
}

void expect_refused(const Json& json, const std::string& name,
                    ErrorKind kind = ErrorKind::unsupported) {
  try {
    Tokenizer::from_json(json);
    ADD_FAILURE() << name;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

TEST(Tokenizer, MergesAsStringsAndAsPairs) {
  EXPECT_EQ(encode(small_tokenizer(), "abcab"), (Ids{3, 2, 3}));
  EXPECT_EQ(encode(small_tokenizer("{}", R"({"merges":[["a","b"]]})"), "abcab"), (Ids{3, 2, 3}));
}

TEST(Tokenizer, UnknownCharactersAreDroppedFusedOrBytes) {
  const std::string vocab = R"("vocab":{"a":0,"b":1,"ab":2,"<unk>":3,"<0xC3>":4,"<0xA9>":5})";
  EXPECT_EQ(encode(small_tokenizer("{}", "{" + vocab + "}"), "azzb"), (Ids{2}));
  EXPECT_EQ(encode(small_tokenizer("{}", "{" + vocab + R"(,"unk_token":"<unk>"})"), "azzb"),
            (Ids{0, 3, 3, 1}));
  EXPECT_EQ(encode(small_tokenizer("{}", "{" + vocab + R"(,"unk_token":"<unk>","fuse_unk":true})"),
                   "azzb"),
            (Ids{0, 3, 1}));
  const std::string bytes = "{" + vocab + R"(,"unk_token":"<unk>","byte_fallback":true})";
  EXPECT_EQ(encode(small_tokenizer("{}", bytes), "a\u00e9b"), (Ids{0, 4, 5, 1}));
  EXPECT_EQ(encode(small_tokenizer("{}", bytes), "a\u00eab"), (Ids{0, 3, 1}));
}

TEST(Tokenizer, IgnoreMergesTakesWholeWords) {
  const std::string model = R"({"vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4},"ignore_merges":true})";
  EXPECT_EQ(encode(small_tokenizer("{}", model), "abc"), (Ids{4}));
  EXPECT_EQ(encode(small_tokenizer("{}", model), "abca"), (Ids{3, 2, 0}));
}

TEST(Tokenizer, IllFormedBytesReadAsReplacementCharacters) {
  const Json json = small_tokenizer("{}", "{\"vocab\":{\"a\":0,\"\ufffd\":1},\"merges\":[]}");
  EXPECT_EQ(encode(json, "a\xff"), (Ids{0, 1}));
  EXPECT_EQ(encode(json, "\xed\xa0\x80"), (Ids{1, 1, 1}));
  EXPECT_EQ(encode(json,
                   "\xf0\x9f\x98"
                   "a"),
            (Ids{1, 0}));
}

TEST(Tokenizer, TheFrameOfSpecialTokens) {
  const std::string frame =
      R"({"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel"},
      {"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
      {"Sequence":{"id":"A","type_id":0}}],"pair":[],
      "special_tokens":{"<s>":{"id":"<s>","ids":[2],"tokens":["<s>"]}}}]}})";
  const Tokenizer tokenizer = Tokenizer::from_json(small_tokenizer(frame));
  EXPECT_EQ(tokenizer.encode("ab", true), (Ids{2, 3}));
  EXPECT_EQ(tokenizer.encode("", true), (Ids{2}));
  EXPECT_EQ(tokenizer.encode("ab", false), (Ids{3}));
}

TEST(Tokenizer, WhatIsNotSupportedIsRefusedByName) {
  expect_refused(
      small_tokenizer(R"({"normalizer":{"type":"Precompiled","precompiled_charsmap":""}})"),
      "Precompiled");
  expect_refused(small_tokenizer(R"({"normalizer":{"type":"BertNormalizer"}})"), "BertNormalizer");
  expect_refused(small_tokenizer(R"({"pre_tokenizer":{"type":"UnicodeScripts"}})"),
                 "UnicodeScripts");
  expect_refused(small_tokenizer(R"({"decoder":{"type":"WordPiece"}})"), "WordPiece");
  expect_refused(small_tokenizer(R"({"post_processor":{"type":"Odd"}})"), "Odd");
  expect_refused(small_tokenizer("{}", R"({"type":"Unigram"})"), "Unigram");
  expect_refused(small_tokenizer("{}", R"({"dropout":0.1})"), "dropout");
}

TEST(Tokenizer, BrokenFilesAreNamed) {
  expect_refused(small_tokenizer("{}", R"({"merges":["a  b"]})"), "merge 1",
                 ErrorKind::corrupt_input);
  expect_refused(small_tokenizer("{}", R"({"merges":["a z"]})"), "\"z\"", ErrorKind::corrupt_input);
  expect_refused(small_tokenizer("{}", R"({"merges":["b c"]})"), "\"bc\"",
                 ErrorKind::corrupt_input);
  expect_refused(small_tokenizer("{}", R"({"vocab":{"a":-1},"merges":[]})"), "-1",
                 ErrorKind::corrupt_input);
  EXPECT_THROW(Tokenizer::load(std::filesystem::temp_directory_path() / "no such folder"), Error);
}

TEST(Tokenizer, VocabularySizesAndNames) {
  const Tokenizer tokenizer = Tokenizer::from_json(
      small_tokenizer(R"({"added_tokens":[{"id":5,"content":"X"},{"id":1,"content":"b"}]})"));
  EXPECT_EQ(tokenizer.vocab_size(), 6u);
  EXPECT_EQ(tokenizer.max_token_id(), 5);
  EXPECT_EQ(tokenizer.token_to_id("X"), 5);
  EXPECT_EQ(tokenizer.token_to_id("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(3), "ab");
  EXPECT_EQ(tokenizer.id_to_token(6), std::nullopt);
  EXPECT_EQ(tokenizer.id_to_token(-1), std::nullopt);
}

TEST(Tokenizer, ErrorsNameTheFile) {
  const auto error_of = [](const Json& json, const TokenizerSideFiles& files) -> std::string {
    try {
      Tokenizer::from_json(json, files);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(parse("[]"), {}).find("tokenizer.json: model: the file holds an array, expected"), 0u);
  EXPECT_EQ(error_of(parse("{}"), {}).find("tokenizer.json: model: it is missing, expected"), 0u);
  EXPECT_EQ(error_of(parse(R"({"model": []})"), {}).find("tokenizer.json: model: it is an array, expected"), 0u);
  EXPECT_EQ(error_of(small_tokenizer(R"({"decoder": {"type": "Replace"}})"), {}).find("tokenizer.json: decoder: "), 0u);
  EXPECT_EQ(error_of(small_tokenizer(R"({"added_tokens": [{"id": 1}]})"), {}).find("tokenizer.json: added_tokens[0]: "), 0u);
  TokenizerSideFiles files;
  files.tokenizer_config = parse(R"({"eos_token": 3})");
  EXPECT_EQ(error_of(small_tokenizer(), files).find("tokenizer_config.json"), 0u) << error_of(small_tokenizer(), files);
}

TEST(StreamDecoder, HandsOutWholeCharactersOnly) {
  const Tokenizer tokenizer = Tokenizer::from_json(small_tokenizer(
      R"({"decoder":{"type":"Sequence","decoders":[
          {"type":"Replace","pattern":{"String":"_"},"content":" "},
      {"type":"ByteFallback"},{"type":"Fuse"},
          {"type":"Strip","content":" ","start":1,"stop":0}]}})",
      R"({"vocab":{"_a":0,"<0xC3>":1,"<0xA9>":2,"_":3},"merges":[]})"));
  StreamDecoder decoder(tokenizer, true);
  EXPECT_EQ(decoder.push(0), "a");
  EXPECT_EQ(decoder.push(0), " a");
  EXPECT_EQ(decoder.push(1), "");
  EXPECT_EQ(decoder.push(2), "\u00e9");
  EXPECT_EQ(decoder.push(3), " ");
  EXPECT_EQ(decoder.push(1), "");
  EXPECT_EQ(decoder.finish(), "\ufffd");
}

}  // namespace
}  // namespace lemnos
