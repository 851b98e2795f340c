#include "text/regex.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/piece.h"
#include "text/regex_syntax.h"

namespace lemnos {
namespace {

using Texts = std::vector<std::string>;

Texts split(const Pattern& pattern, const std::string& text,
            SplitBehavior behavior = SplitBehavior::isolated) {
  Piece piece;
  piece.text = text;
  Pieces pieces;
  split_piece(piece, pattern.find_spans(text), behavior, pieces);
  Texts texts;
  for (const Piece& part : pieces) texts.push_back(part.text);
  return texts;
}

Texts split(const std::string& regex, const std::string& text) {
  return split(Pattern::regex(regex), text);
}

TEST(Regex, APlusBehindAnIntervalRepeats) {
  EXPECT_EQ(split(R"(\p{N}{1,3}+)", "123456789 12"), (Texts{"123456789", " ", "12"}));
  EXPECT_EQ(split(R"(\p{N}{1,3})", "1234567"), (Texts{"123", "456", "7"}));
  EXPECT_EQ(split("a{,2}", "aaaa"), (Texts{"aa", "aa"}));
}

TEST(Regex, EmptyMatchBehindAMatchIsSkipped) {
  EXPECT_EQ(split("b*", "abba"), (Texts{"a", "bb", "a"}));
}

TEST(Regex, LinesAndDot) {
  EXPECT_EQ(split("^a", "a\na"), (Texts{"a", "\n", "a"}));
  EXPECT_EQ(split("a$", "a\na\n"), (Texts{"a", "\n", "a", "\n"}));
  EXPECT_EQ(split("(?m:a.)", "a\n"), (Texts{"a\n"}));
  EXPECT_EQ(split(".", "a\r"), (Texts{"a", "\r"}));
}

TEST(Regex, ClassesAreOnigurumas) {
  const std::string mongolian_vowel_separator = "\u180e";
  EXPECT_EQ(split(R"(\s)", "a" + mongolian_vowel_separator),
            (Texts{"a" + mongolian_vowel_separator}));
  EXPECT_EQ(split(R"(\s)", "a\v\u0085"), (Texts{"a", "\v", "\u0085"}));
  EXPECT_EQ(split(R"(\h)", "xf"), (Texts{"x", "f"}));
  EXPECT_EQ(split(R"([\p{L}&&[^\p{Han}]]+)", "ab\u4e2d"), (Texts{"ab", "\u4e2d"}));
  EXPECT_EQ(split(R"([^\P{L}a]+)", "abc1"), (Texts{"a", "bc", "1"}));
  EXPECT_EQ(split("(?i:'s)", "it'\u017f"), (Texts{"it", "'\u017f"}));
}

TEST(Regex, CharactersOfUnicode16AreKnown) {
  EXPECT_EQ(split(R"(\p{Lo}+)", "\U00031350\U00013460 "), (Texts{"\U00031350\U00013460", " "}));
  EXPECT_EQ(split(R"(\p{Han})", "\U00031350"), (Texts{"\U00031350"}));
}

TEST(Regex, UnknownConstructsAreRefusedByName) {
  for (const char* pattern :
       {R"(\p{Klingon})", R"(\p{Mn})",      R"(\X)",      R"(\G)",          R"(\1)",
        R"((?~abc))",     R"((?x)a)",       R"((?<n>a))", R"([[:punct:]])", R"((?i:ss))",
        "(?i:\u00df)",    R"((?i:\p{Lu}))", R"(a{2}?)",   R"([a[^b]c])",    R"((a)",
        R"(a))",          R"(*)",           R"(\xff)",    R"([)",           R"(a(?i)b|c)",
        R"((*FAIL))"}) {
    try {
      const Regex regex(pattern);
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported) << pattern;
      EXPECT_NE(std::string(error.what()).find("regex"), std::string::npos) << error.what();
    }
  }
}

TEST(Split, AllBehaviors) {
  const Pattern dash = Pattern::literal("-");
  const std::string text = "the-final--countdown";
  EXPECT_EQ(split(dash, text, SplitBehavior::removed), (Texts{"the", "final", "countdown"}));
  EXPECT_EQ(split(dash, text, SplitBehavior::isolated),
            (Texts{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split(dash, text, SplitBehavior::merged_with_previous),
            (Texts{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split(dash, text, SplitBehavior::merged_with_next),
            (Texts{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split(dash, text, SplitBehavior::contiguous),
            (Texts{"the", "-", "final", "--", "countdown"}));
}

}  // namespace
}  // namespace lemnos
