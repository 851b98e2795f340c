#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lemnos::proof {

/// One source file of those that decide numbers, as the build found it. Used by the build's own tool
/// too (cmake/source_table), so this pair of files needs nothing but base/sha256.
struct SourceFile {
  std::string path;                   // "ops/norm/rms_norm.cpp", below src/; "cmake/Shaders.cmake"
  std::string sha256;                 // of the text without comments and layout
  std::vector<std::string> includes;  // ours, as written: "ops/rows.h"
  std::vector<std::string> ops;       // names of the ops defined here
  std::vector<std::string> shaders;   // stems of the shaders that string literals name
  std::string family;                 // model_type of the family defined here
  bool operator==(const SourceFile&) const = default;
};

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
