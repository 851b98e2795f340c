#include "io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace lemnos {
namespace {

/// Owns a descriptor for the time of one function.
class Descriptor {
 public:
  explicit Descriptor(const std::filesystem::path& path)
      : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a pipe must not wait
    if (number_ < 0) fail_io("open", path, errno);
  }
  ~Descriptor() { ::close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string_view advice(int error_code) {
  switch (error_code) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space or choose another folder";
    case EFBIG:
      return "; the limit on file sizes (ulimit -f, or the file system's) is reached";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; check the permissions of the folder";
    default:
      return "";
  }
}

}  // namespace

void fail_io(std::string_view doing, const std::filesystem::path& path, int error_code) {
  fail(ErrorKind::io, "cannot {} {}: {}{}", doing, path.string(),
       std::generic_category().message(error_code), advice(error_code));
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const Descriptor file(path);
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) fail_io("open", path, errno);
  if (!S_ISREG(status.st_mode))
    fail(ErrorKind::io, "cannot read {}: it is {}, expected a file", path.string(),
         S_ISDIR(status.st_mode) ? "a folder" : "not a plain file");
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return;
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (start == MAP_FAILED) fail_io("map", path, errno);
  bytes_ = {static_cast<const std::byte*>(start), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

FileWriter::FileWriter(const std::filesystem::path& path)
    : path_(path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_io("create", path, errno);
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_io("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += static_cast<uint64_t>(written);
  }
}

void FileWriter::sync() {
  if (::fsync(descriptor_) != 0) fail_io("write to disk", path_, errno);
}

void FileWriter::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_io("close", path_, errno);
}

std::string read_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

void write_file_atomic(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::path stage = path;
  stage += format(".tmp-{}", ::getpid());
  try {
    FileWriter writer(stage);
    writer.write(content);
    writer.sync();
    writer.close();
    if (::rename(stage.c_str(), path.c_str()) != 0) fail_io("replace", path, errno);
  } catch (...) {
    ::unlink(stage.c_str());
    throw;
  }
  sync_path(parent_folder(path));
}

void sync_path(const std::filesystem::path& path) {
  const Descriptor opened(path);
  if (::fsync(opened.number()) != 0) fail_io("write to disk", path, errno);
}

std::filesystem::path parent_folder(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace lemnos
