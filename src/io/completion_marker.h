#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace lemnos {

/// The file that makes a folder complete: the list of its files, with sizes and checksums.
inline constexpr const char* kMarkerName = ".complete";

struct FileRecord {
  /// Relative to the folder, with '/'.
  std::string name;
  uint64_t bytes = 0;
  uint64_t checksum = 0;

  bool operator==(const FileRecord&) const = default;
};

/// Reads every regular file under `folder`, but for the marker; sorted by name. Anything that is
/// neither a file nor a folder (a link, say) is Error{io}.
std::vector<FileRecord> record_files(const std::filesystem::path& folder);

/// As `record_files`, after dropping the cached pages, so that the bytes come back from the device
/// where the system allows that.
std::vector<FileRecord> record_files_from_device(const std::filesystem::path& folder);

void write_marker(const std::filesystem::path& folder, const std::vector<FileRecord>& files);
/// Error{io} when there is no marker, Error{corrupt_input} when it cannot be understood.
std::vector<FileRecord> read_marker(const std::filesystem::path& folder);

/// 64-bit FNV-1a over little-endian 8-byte words with the upper half folded down after each; the last
/// word is padded with zeros and the size is the seed.
uint64_t checksum(std::span<const std::byte> bytes);
uint64_t file_checksum(const std::filesystem::path& file);

}  // namespace lemnos
