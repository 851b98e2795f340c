#include "io/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "io/file.h"
#include "io/safetensors_header.h"
#include "io/test_files.h"

namespace lemnos {
namespace {

using test::entry;
using test::expect_error;
using test::object;
using test::raw_safetensors;
using test::small_file;
using test::TempFolder;
using test::write_text;

SafetensorsHeader parse(const std::string& file) {
  return parse_safetensors_header(std::as_bytes(std::span(file)), "f.safetensors");
}

SafetensorsHeader parse_one(std::string_view dtype, std::string_view shape,
                            std::string_view offsets, size_t data_bytes) {
  return parse(raw_safetensors(
      format(R"({{"a":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape, offsets),
      data_bytes));
}

TEST(Safetensors, OpensAFile) {
  const TempFolder folder;
  write_text(folder / "m.safetensors",
             raw_safetensors(
                 object({R"("__metadata__":{"format":"pt"})", entry("b", 8), entry("a", 0)}), 16));
  const SafetensorsFile file = SafetensorsFile::open(folder / "m.safetensors");
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_NE(file.find("b"), nullptr);
  EXPECT_EQ(file.find("b")->dtype, FileDType::F32);
  EXPECT_EQ(file.find("b")->bytes.size(), 8u);
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(Safetensors, AcceptsWhatTheReferenceAccepts) {
  EXPECT_EQ(parse(raw_safetensors("{}", 0)).tensors.size(), 0u);
  EXPECT_EQ(parse(raw_safetensors(R"({"__metadata__":{"a":"b"}})", 0)).metadata.at("a"), "b");
  EXPECT_EQ(parse(raw_safetensors(R"({"__metadata__":null})", 0)).tensors.size(), 0u);
  EXPECT_EQ(parse_one("F32", "[]", "[0,4]", 4).tensors[0].shape.size(), 0u);
  EXPECT_EQ(parse_one("F32", "[0,3]", "[0,0]", 0).tensors[0].end, 0u);
  EXPECT_EQ(parse_one("F4", "[2]", "[0,1]", 1).tensors.size(), 1u);
  EXPECT_EQ(parse(raw_safetensors(object({entry("", 0)}), 8)).tensors[0].name, "");
  const std::string empty_between = R"("z":{"dtype":"F32","shape":[0],"data_offsets":[8,8]})";
  EXPECT_EQ(parse(raw_safetensors(object({empty_between, entry("a", 0), entry("b", 8)}), 16))
                .tensors[1]
                .name,
            "z");
  EXPECT_EQ(parse(raw_safetensors("  {}  ", 0)).tensors.size(), 0u);
}

TEST(Safetensors, RefusesBrokenLayouts) {
  const auto refuse = [](std::string_view part, const std::string& file) {
    expect_error(ErrorKind::corrupt_input, {"f.safetensors", part}, [&] { parse(file); });
  };
  refuse("after the last", raw_safetensors(object({entry("a", 0)}), 9));
  refuse("truncated", raw_safetensors(object({entry("a", 0)}), 7));
  refuse("hole", raw_safetensors(object({entry("a", 8)}), 16));
  refuse("hole", raw_safetensors(object({entry("a", 0), entry("b", 12)}), 20));
  refuse("overlap", raw_safetensors(object({entry("a", 0), entry("b", 0)}), 8));
  refuse("overlap", raw_safetensors(object({entry("a", 0), entry("b", 4)}), 12));
  refuse("twice", raw_safetensors(object({entry("a", 0), entry("a", 8)}), 16));
  refuse("after the last", raw_safetensors("{}", 1));
}

TEST(Safetensors, RefusesBrokenEntries) {
  const auto refuse = [](std::string_view part, std::string_view dtype, std::string_view shape,
                         std::string_view offsets) {
    expect_error(ErrorKind::corrupt_input, {"\"a\"", part},
                 [&] { parse_one(dtype, shape, offsets, 8); });
  };
  refuse("need 12 bytes", "F32", "[3]", "[0,8]");
  refuse("integers", "F32", "[-2]", "[0,8]");
  refuse("integers", "F32", "[2.0]", "[0,8]");
  refuse("integers", "F32", "[18446744073709551615]", "[0,8]");
  refuse("64 bits", "F32", "[4611686018427387904,8]", "[0,8]");
  refuse("64 bits", "F32", "[4611686018427387904,8,0]", "[0,0]");
  refuse("backwards", "F32", "[2]", "[8,0]");
  refuse("2 entries", "F32", "[2]", "[0,8,9]");
  refuse("an array", "F32", "2", "[0,8]");
  refuse("no dtype", "F33", "[2]", "[0,8]");
  refuse("whole bytes", "F6_E2M3", "[2]", "[0,1]");
}

TEST(Safetensors, RefusesBrokenHeaders) {
  for (const char* header :
       {"", "[]", "{", "{\"a\":1}", "{\"a\":{}}", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}",
        "{\"__metadata__\":{\"a\":1}}", "{\"__metadata__\":[]}", "{\"\xff\":{}}", "{}{}"})
    expect_error(ErrorKind::corrupt_input, {"f.safetensors"},
                 [&] { parse(raw_safetensors(header, 0)); });
  for (const size_t size : {0, 1, 7})
    expect_error(ErrorKind::corrupt_input, {"too few"}, [&] { parse(std::string(size, '\0')); });
}

TEST(Safetensors, NamesForeignFormats) {
  const auto refuse = [](std::string start, std::string_view what) {
    start.resize(200, '\x01');
    expect_error(ErrorKind::corrupt_input, {"f.safetensors", what}, [&] { parse(start); });
  };
  refuse("PK\x03\x04", "zip");
  refuse("\x80\x02", "pickle");
  refuse("GGUF", "GGUF");
  refuse("version https://git-lfs.github.com/spec/v1\n", "git lfs pull");
  refuse("<!DOCTYPE html>", "web page");
}

/// The reference reads headers of up to 100,000,000 bytes; some readers stop at 100,000.
TEST(Safetensors, HeaderSizeLimitIsTheReferences) {
  for (const uint64_t size : {100'000u, 100'000'000u}) {
    std::string file = raw_safetensors(object({entry("a", 0)}), 0);
    file.resize(8 + size, ' ');
    std::memcpy(file.data(), &size, sizeof(size));
    file.append(8, 'x');
    EXPECT_EQ(parse(file).tensors.size(), 1u);
  }
  const uint64_t too_long = 100'000'001;
  expect_error(ErrorKind::corrupt_input, {"100000001", "100000000"}, [&] {
    parse(std::string(reinterpret_cast<const char*>(&too_long), sizeof(too_long)));
  });
}

TEST(Safetensors, EveryTruncationIsAnError) {
  const std::string file = small_file({"a", "b"});
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_THROW(parse(file.substr(0, size)), Error) << size;
}

TEST(Safetensors, RandomDamageIsAnErrorOrHarmless) {
  const std::string sound = small_file({"model.layers.0.weight", "b", "c"});
  const std::string_view pieces[] = {"\"",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "-1",
                                     "1e9",
                                     "null",
                                     "\\u0000",
                                     "F64",
                                     "9223372036854775807",
                                     "18446744073709551616",
                                     "[[[[",
                                     "\xc3",
                                     "\x00"};
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string file = sound;
    const auto edits = 1 + random() % 4;
    for (uint32_t i = 0; i < edits; ++i) {
      const size_t at = random() % file.size();
      switch (random() % 4) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file.erase(at, 1 + random() % 9);
          break;
        case 2:
          file.insert(at, pieces[random() % std::size(pieces)]);
          break;
        default:
          file[at] = static_cast<char>(file[at] ^ (1 << (random() % 8)));
          break;
      }
      if (file.empty()) file.assign(1, 'x');
    }
    try {
      parse(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt_input);
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Safetensors, APipeIsRefusedAndNotWaitedFor) {
  const TempFolder dir;
  const std::filesystem::path pipe = dir.path() / "model.safetensors";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorKind::io, {"model.safetensors", "not a plain file"}, [&] { SafetensorsFile::open(pipe); });
  expect_error(ErrorKind::io, {"not a plain file"}, [&] { read_file(pipe); });
}

TEST(Safetensors, MissingFileIsAnIoError) {
  const TempFolder folder;
  expect_error(ErrorKind::io, {"nothing.safetensors", "No such file"},
               [&] { SafetensorsFile::open(folder / "nothing.safetensors"); });
  expect_error(ErrorKind::io, {"it is a folder, expected a file"}, [&] { SafetensorsFile::open(folder.path()); });
}

}  // namespace
}  // namespace lemnos
