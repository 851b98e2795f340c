#include "base/input_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/log.h"

namespace lemnos {
namespace {

[[noreturn]] void fail_to_read(const std::string& path, int error_code) {
  fail(ErrorKind::io, "cannot read {}: {}", path, std::strerror(error_code));
}

}  // namespace

std::ifstream open_input(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    fail(ErrorKind::io, "cannot read {}: it is a folder, expected a file", path);
  // A pipe waits for its writer.
  if (std::filesystem::exists(path, unknown) && !std::filesystem::is_regular_file(path, unknown)) log_info("reading {}", path);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail_to_read(path, errno);
  return in;
}

std::string read_input(const std::string& path) {
  std::ifstream in = open_input(path);
  errno = 0;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) fail_to_read(path, errno);
  return text;
}

}  // namespace lemnos
