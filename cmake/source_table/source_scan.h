#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "proof/source_file.h"

namespace lemnos::proof {

/// The text without comments, every run of white space as one blank; preprocessor lines stay lines.
/// Strings and characters are left alone, and so are the lines `//! variant ...` of shaders, which say
/// how they are compiled.
std::string stripped(std::string_view text);
/// The same for CMake's comments.
std::string stripped_cmake(std::string_view text);

/// Every source that decides numbers, of a tree that has src/ and cmake/, by path.
std::vector<SourceFile> scan_sources(const std::filesystem::path& tree);
/// The same files, to depend on.
std::vector<std::filesystem::path> sources_to_scan(const std::filesystem::path& tree);

}  // namespace lemnos::proof
