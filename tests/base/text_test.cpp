// Small helpers of messages: sizes, near words, places, files that cannot be read.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/input_file.h"
#include "base/nearest.h"
#include "base/plural.h"
#include "base/printable.h"

namespace lemnos {
namespace {

TEST(ByteText, TakesTheUnitThatFits) {
  EXPECT_EQ(byte_text(0), "0 bytes");
  EXPECT_EQ(byte_text(1), "1 byte");
  EXPECT_EQ(byte_text(1023), "1023 bytes");
  EXPECT_EQ(byte_text(1024), "1.00 KiB");
  EXPECT_EQ(byte_text(1536 * 1024), "1.50 MiB");
  EXPECT_EQ(byte_text(uint64_t{5} << 30), "5.00 GiB");
  EXPECT_EQ(byte_text(uint64_t{3} << 50), "3072.00 TiB");
}

TEST(NearestWord, GuessesOnlyWhatIsNear) {
  const std::string_view words[] = {"train", "plan", "inspect", "r"};
  EXPECT_EQ(nearest_word("trian", words), "train");
  EXPECT_EQ(nearest_word("inspct", words), "inspect");
  EXPECT_EQ(nearest_word("lemon", words), "");
  EXPECT_EQ(nearest_word("s", words), "") << "words of one letter are not guessed";
}

TEST(Printable, EscapesWhatIsNoText) {
  const std::string text = "tab\t, line\n, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80"), "\\xc0\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
}

TEST(Counted, HasASingular) {
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(0, "row") + ", " + counted(2, "row"), "0 rows, 2 rows");
}

TEST(InPlace, PutsThePlaceBeforeTheMessageAndKeepsTheKind) {
  EXPECT_EQ(in_place("file", [] { return 3; }), 3);
  try {
    in_place("file", [] { fail(ErrorKind::unsupported, "no {}", 1); });
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "file: no 1");
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

std::string read_error(const std::string& path) {
  try {
    read_input(path);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    return error.what();
  }
}

TEST(InputFile, FoldersAndMissingFilesHaveTheirReason) {
  const std::string folder = std::filesystem::temp_directory_path();
  EXPECT_EQ(read_error(folder), "cannot read " + folder + ": it is a folder, expected a file");
  EXPECT_EQ(read_error("/nowhere/a"), "cannot read /nowhere/a: No such file or directory");
  EXPECT_EQ(read_error("/dev/null/a"), "cannot read /dev/null/a: Not a directory");
  EXPECT_EQ(read_input("/dev/null"), "");
}

}  // namespace
}  // namespace lemnos
