#include "text/utf8.h"

#include <gtest/gtest.h>

namespace lemnos {
namespace {

TEST(Utf8, EachMaximalIllFormedPartBecomesOneReplacement) {
  const std::string bad(kReplacementCharacter);
  EXPECT_EQ(to_valid_utf8("a\xFF"
                          "b"),
            "a" + bad + "b");
  EXPECT_EQ(to_valid_utf8("\xE5\x8F"), bad);  // a cut character
  EXPECT_EQ(to_valid_utf8("\xE5\x8F"
                          "x"),
            bad + "x");
  EXPECT_EQ(to_valid_utf8("\xC0\x80"), bad + bad);            // overlong
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), bad + bad + bad);  // a surrogate
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98"
                          "a"),
            bad + "a");
  EXPECT_EQ(to_valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // beyond U+10FFFF
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\x98\x80"), "\xF0\x9F\x98\x80");
}

TEST(Utf8, ReadsForwardAndBackward) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80";
  const char32_t expected[] = {'a', 0xE9, 0x20AC, 0x1F600};
  size_t at = 0;
  std::string again;
  for (char32_t c : expected) {
    EXPECT_EQ(utf8_at(text, at).value, c);
    at += utf8_at(text, at).size;
    EXPECT_EQ(utf8_before(text, at).value, c);
    append_utf8(again, c);
  }
  EXPECT_EQ(again, text);
}

}  // namespace
}  // namespace lemnos
