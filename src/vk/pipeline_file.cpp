#include "vk/pipeline_file.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "base/cache_folder.h"
#include "base/log.h"
#include "vk/device.h"

namespace lemnos::vk {
namespace {

struct FileHeader {
  char magic[8] = {'L', 'M', 'N', 'P', 'I', 'P', 'E', '1'};
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += format("{:02x}", byte);
  return text;
}

}  // namespace

std::filesystem::path pipeline_file(const DeviceInfo& info) {
  const std::filesystem::path directory = cache_folder();
  if (directory.empty()) return {};
  return directory / format("pipelines-{}-{}.bin", hex(info.device_uuid), hex(info.driver_uuid));
}

uint64_t content_hash(std::span<const std::byte> content) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const std::byte byte : content) hash = (hash ^ static_cast<uint64_t>(byte)) * 1099511628211u;
  return hash;
}

std::vector<std::byte> read_pipeline_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  FileHeader header;
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  if (std::memcmp(header.magic, FileHeader{}.magic, sizeof header.magic) != 0) return {};
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(file, error);
  if (error || size != sizeof header + header.bytes) return {};
  std::vector<std::byte> content(header.bytes);
  in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()));
  if (!in || content_hash(content) != header.hash) return {};
  return content;
}

void write_pipeline_file(const std::filesystem::path& file, std::span<const std::byte> content) {
  const FileHeader header{.bytes = content.size(), .hash = content_hash(content)};
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  std::filesystem::path staged = file;
  staged += format(".{}.tmp", getpid());
  std::ofstream out(staged, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&header), sizeof header);
  out.write(reinterpret_cast<const char*>(content.data()),
            static_cast<std::streamsize>(content.size()));
  out.close();
  if (out) std::filesystem::rename(staged, file, error);
  if (!out || error) {
    log_debug("the compiled pipelines could not be kept in {}", file.string());
    std::filesystem::remove(staged, error);
  }
}

}  // namespace lemnos::vk
