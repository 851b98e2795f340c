#pragma once
// Private to src/vk: the file that keeps a driver's compiled pipelines between runs.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace lemnos::vk {

struct DeviceInfo;

/// Where the pipelines of this device and driver are kept; empty when there is no home directory.
std::filesystem::path pipeline_file(const DeviceInfo& info);
/// The content, or nothing when the file is absent, cut short or altered.
std::vector<std::byte> read_pipeline_file(const std::filesystem::path& file);
/// Replaces the file in one step; a failure costs only time at the next start and is logged.
void write_pipeline_file(const std::filesystem::path& file, std::span<const std::byte> content);
uint64_t content_hash(std::span<const std::byte> content);

}  // namespace lemnos::vk
