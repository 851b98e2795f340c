#pragma once

#include <string>
#include <vector>

namespace lemnos::proof {

/// One source file of those that decide numbers, as the build found it.
struct SourceFile {
  std::string path;                   // "ops/norm/rms_norm.cpp", below src/; "cmake/Shaders.cmake"
  std::string sha256;                 // of the text without comments and layout
  std::vector<std::string> includes;  // ours, as written: "ops/rows.h"
  std::vector<std::string> ops;       // names of the ops defined here
  std::vector<std::string> shaders;   // stems of the shaders that string literals name
  std::string family;                 // model_type of the family defined here
  bool operator==(const SourceFile&) const = default;
};

}  // namespace lemnos::proof
