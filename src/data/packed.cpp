#include "data/packed.h"

#include "base/format.h"

namespace lemnos::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kConvert =
    "write it as JSONL, e.g. with Dataset.to_json(...) of datasets or pandas' to_json(..., orient=\"records\", lines=True)";

struct Magic {
  std::string_view bytes;
  std::string_view what;
  std::string_view advice;  // {} is the file
};
constexpr Magic kMagics[] = {
    {"\x1f\x8b"sv, "gzip-compressed", "unpack it: gunzip -k {}"},
    {"\x28\xb5\x2f\xfd"sv, "zstd-compressed", "unpack it: unzstd {}"},
    {"\xfd\x37zXZ\0"sv, "xz-compressed", "unpack it: unxz -k {}"},
    {"BZh"sv, "bzip2-compressed", "unpack it: bunzip2 -k {}"},
    {"\x04\x22\x4d\x18"sv, "lz4-compressed", "unpack it: unlz4 {}"},
    {"PK\x03\x04"sv, "a zip archive (or a spreadsheet, .xlsx)", "unpack it with unzip, or export the sheet's rows as JSONL"},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "unpack it: 7z x {}"},
    {"PAR1"sv, "a Parquet file", kConvert},
    {"ARROW1"sv, "an Arrow file", kConvert},
    {"\xff\xff\xff\xff"sv, "an Arrow stream", kConvert},  // what datasets.save_to_disk writes
    {"SQLite format 3\0"sv, "an SQLite database", kConvert},
    {"\x89HDF\r\n"sv, "an HDF5 file", kConvert},
    {"\xff\xfe"sv, "UTF-16 text", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 {}"},
    {"\xfe\xff"sv, "UTF-16 text", "write it as UTF-8: iconv -f UTF-16 -t UTF-8 {}"},
};

}  // namespace

std::optional<std::string> why_not_text(std::string_view first_bytes, std::string_view file) {
  for (const Magic& magic : kMagics) {
    if (!first_bytes.starts_with(magic.bytes)) continue;
    std::string advice(magic.advice);
    if (const size_t at = advice.find("{}"); at != std::string::npos) advice.replace(at, 2, file);
    return format("{}, expected JSON lines; {}", magic.what, advice);
  }
  return std::nullopt;
}

}  // namespace lemnos::data
