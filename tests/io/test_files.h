#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/format.h"
#include "io/file.h"

namespace lemnos::test {

/// A folder of its own, removed at the end.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lemnos-io-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  FileWriter writer(path);
  writer.write(text);
  writer.close();
}

/// The bytes of a safetensors file with this header, whatever it says, and this many data bytes.
inline std::string raw_safetensors(std::string_view header, size_t data_bytes) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  file += header;
  file.append(data_bytes, 'x');
  return file;
}

/// One F32 tensor of two elements, `name`, at `begin`.
inline std::string entry(std::string_view name, size_t begin) {
  return format(R"("{}":{{"dtype":"F32","shape":[2],"data_offsets":[{},{}]}})", name, begin,
                begin + 8);
}

/// "{" entries "}"
inline std::string object(std::initializer_list<std::string> entries) {
  std::string text = "{";
  for (const std::string& item : entries) {
    if (text.size() > 1) text += ',';
    text += item;
  }
  text += '}';
  return text;
}

/// A sound file of such tensors.
inline std::string small_file(std::initializer_list<std::string_view> names) {
  std::string header = "{";
  size_t begin = 0;
  for (const std::string_view name : names) {
    if (begin != 0) header += ',';
    header += entry(name, begin);
    begin += 8;
  }
  header += '}';
  return raw_safetensors(header, begin);
}

/// Expects an Error of this kind whose message holds all the parts.
template <typename Action>
void expect_error(ErrorKind kind, std::initializer_list<std::string_view> parts, Action action) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const std::string_view part : parts)
      EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
          << "\"" << part << "\" is not in: " << error.what();
  }
}

}  // namespace lemnos::test
