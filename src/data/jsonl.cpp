#include "data/jsonl.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/input_file.h"
#include "data/packed.h"

namespace lemnos::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> jsonl_files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".jsonl" && it->is_regular_file()) files.push_back(it->path());
  if (error) fail(ErrorKind::io, "cannot list the folder {}: {}", folder, error.message());
  if (files.empty()) fail(ErrorKind::io, "the folder {} holds no *.jsonl file", folder);
  std::sort(files.begin(), files.end());
  return files;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\v\f") == std::string_view::npos;
}

}  // namespace

std::vector<std::string> expand_data_paths(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) {
      for (std::string& file : jsonl_files_in(path)) files.push_back(std::move(file));
    } else if (fs::exists(status)) {
      files.push_back(path);
    } else {
      fail(ErrorKind::io,
           "the data file {} does not exist; expected a JSONL file or a folder of *.jsonl files "
           "(data sets are not fetched from the Hub)",
           path);
    }
  }
  return files;
}

int64_t for_each_json_line(const std::string& file,
                           const std::function<void(int64_t, std::string_view)>& row) {
  std::ifstream in = open_input(file);
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string text;
  int64_t blank = 0;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    std::string_view view = text;
    if (line == 1)
      if (const auto why = why_not_text(view, file)) fail(ErrorKind::unsupported, "{} is {}", file, *why);
    if (line == 1 && view.starts_with(kByteOrderMark)) view.remove_prefix(kByteOrderMark.size());
    if (is_blank(view))
      ++blank;
    else
      row(line, view);
  }
  if (in.bad()) fail(ErrorKind::io, "reading the data file {} failed", file);
  return blank;
}

}  // namespace lemnos::data
