#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lemnos {

/// Throws Error{io}: "cannot <doing> <path>: <reason>", with advice when the disk is full.
[[noreturn]] void fail_io(std::string_view doing, const std::filesystem::path& path,
                          int error_code);

/// Runs `action`; what std::filesystem reports becomes an Error{io} naming the path.
template <typename Action>
auto with_io_errors(Action&& action) {
  try {
    return action();
  } catch (const std::filesystem::filesystem_error& error) {
    fail_io("access", error.path1(), error.code().value());
  }
}

/// A file mapped for reading; unmapped when destroyed. Pages come in when touched, so a checkpoint
/// larger than memory can be opened. The file must not be truncated by others meanwhile.
class MappedFile {
 public:
  /// Throws Error{io} unless `path` is a regular file that can be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

/// Creates or empties a file and appends to it. Every failure is an Error{io} naming the file.
class FileWriter {
 public:
  explicit FileWriter(const std::filesystem::path& path);
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;
  /// Closes without a check; call `close` to learn that all is written.
  ~FileWriter();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Returns once the bytes are on the device (fsync).
  void sync();
  void close();
  uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
  uint64_t size_ = 0;
};

/// The whole file; Error{io} when it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Replaces `path` so that a reader, or a machine that loses power, sees the old or the new content
/// and nothing between: written to a sibling, fsynced, renamed, folder fsynced.
void write_file_atomic(const std::filesystem::path& path, std::string_view content);

/// Returns once the file's bytes, or the folder's names, are on the device (fsync).
void sync_path(const std::filesystem::path& path);

/// The folder that holds `path`, never empty: "." for a bare name.
std::filesystem::path parent_folder(const std::filesystem::path& path);

}  // namespace lemnos
