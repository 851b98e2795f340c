#pragma once

#include <filesystem>
#include <string_view>

namespace lemnos {

/// A new empty folder in the system's temporary folder, removed with the object.
class TemporaryDir {
 public:
  explicit TemporaryDir(std::string_view prefix);
  ~TemporaryDir();
  TemporaryDir(const TemporaryDir&) = delete;
  TemporaryDir& operator=(const TemporaryDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lemnos
