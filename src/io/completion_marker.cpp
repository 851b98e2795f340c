#include "io/completion_marker.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/json.h"
#include "io/file.h"

namespace lemnos {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMarkerFormat = 1;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_symlink() || !(entry.is_regular_file() || entry.is_directory()))
      fail(ErrorKind::io, "{}: expected only files and folders here", entry.path().string());
    if (entry.is_regular_file() && entry.path() != folder / kMarkerName)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void drop_cached_pages(const fs::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;  // the read that follows reports it
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
  ::close(descriptor);
}

uint64_t mix(uint64_t state, uint64_t word) {
  constexpr uint64_t kFnvPrime = 0x100000001b3;
  state = (state ^ word) * kFnvPrime;
  // Without this, two flips of a word's top bit would cancel out.
  return state ^ (state >> 32);
}

uint64_t parse_hex(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorKind::corrupt_input, "\"{}\" is not a checksum", text);
  return value;
}

}  // namespace

uint64_t checksum(std::span<const std::byte> bytes) {
  constexpr uint64_t kFnvOffset = 0xcbf29ce484222325;
  uint64_t state = mix(kFnvOffset, bytes.size());
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    state = mix(state, word);
  }
  uint64_t last = 0;
  if (i < bytes.size()) std::memcpy(&last, bytes.data() + i, bytes.size() - i);
  return mix(state, last);
}

uint64_t file_checksum(const fs::path& file) { return checksum(MappedFile(file).bytes()); }

std::vector<FileRecord> record_files(const fs::path& folder) {
  std::vector<FileRecord> records;
  for (const fs::path& path : files_below(folder)) {
    const MappedFile file(path);
    records.push_back({path.lexically_relative(folder).generic_string(), file.bytes().size(),
                       checksum(file.bytes())});
  }
  return records;
}

std::vector<FileRecord> record_files_from_device(const fs::path& folder) {
  for (const fs::path& path : files_below(folder)) drop_cached_pages(path);
  return record_files(folder);
}

void write_marker(const fs::path& folder, const std::vector<FileRecord>& files) {
  Json list = Json::array();
  for (const FileRecord& file : files)
    list.push_back(Json(Json::Object{{"name", file.name},
                                     {"bytes", file.bytes},
                                     {"checksum", format("{:016x}", file.checksum)}}));
  const Json marker(Json::Object{{"format", kMarkerFormat}, {"files", list}});
  FileWriter writer(folder / kMarkerName);
  writer.write(marker.dump(1) + "\n");
  writer.sync();
  writer.close();
}

std::vector<FileRecord> read_marker(const fs::path& folder) {
  const std::string source = (folder / kMarkerName).string();
  const Json marker = Json::parse(read_file(source), source);
  return in_place(source, [&] {
    if (marker.at("format").as_integer() != kMarkerFormat)
      fail(ErrorKind::corrupt_input, "written by a newer version of this program");
    std::vector<FileRecord> files;
    for (const Json& entry : marker.at("files").as_array())
      files.push_back({entry.at("name").as_string(),
                       static_cast<uint64_t>(entry.at("bytes").as_integer()),
                       parse_hex(entry.at("checksum").as_string())});
    return files;
  });
}

}  // namespace lemnos
